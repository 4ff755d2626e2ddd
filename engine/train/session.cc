// Names of the reasons to stop.
#include "engine/train/session.h"

#include <array>
#include <utility>

namespace traind::train {
namespace {

constexpr std::array<std::pair<StopReason, std::string_view>, 4> kStopReasons = {{
    {StopReason::kPause, "pause"},
    {StopReason::kCancel, "cancel"},
    {StopReason::kBudget, "budget"},
    {StopReason::kShutdown, "shutdown"},
}};

}  // namespace

std::string_view StopReasonName(StopReason reason) {
  for (const auto& [value, name] : kStopReasons) {
    if (value == reason) return name;
  }
  return "shutdown";
}

std::optional<StopReason> ParseStopReason(std::string_view name) {
  for (const auto& [value, known] : kStopReasons) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace traind::train
