// Names of the strategies' parts.
#include "engine/plan/strategy.h"

#include "engine/spec/names.h"

namespace traind::plan {
namespace {

constexpr spec::Named<Recompute> kNames[] = {
    {Recompute::kNone, "none"}, {Recompute::kSelective, "selective"}, {Recompute::kFull, "full"}};

}  // namespace

std::string_view RecomputeName(Recompute recompute) {
  return spec::NameOf(kNames, recompute);
}

Result<Recompute> ParseRecompute(std::string_view name) {
  return spec::ValueOf(kNames, name, ErrorCode::INVALID_OPTION, "recompute");
}

}  // namespace traind::plan
