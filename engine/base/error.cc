// Lookup in the error table.
#include "engine/base/error.h"

#include <algorithm>

namespace traind {
namespace {

constexpr ErrorInfo kErrors[] = {
#define E(number, name, error_class, retryable, exit_code, text) \
  {ErrorCode::name, #name, #error_class, retryable, exit_code, text},
#include "engine/base/errors.def"
#undef E
};

}  // namespace

std::span<const ErrorInfo> AllErrors() {
  return kErrors;
}

const ErrorInfo& InfoOf(ErrorCode code) {
  const auto* row = std::ranges::find(kErrors, code, &ErrorInfo::code);
  return row != std::end(kErrors) ? *row : *std::ranges::find(kErrors, ErrorCode::INTERNAL, &ErrorInfo::code);
}

const ErrorInfo* FindError(std::string_view name) {
  const auto* row = std::ranges::find(kErrors, name, &ErrorInfo::name);
  return row != std::end(kErrors) ? row : nullptr;
}

}  // namespace traind
