// The limits table as constants and rows. All limits are checked before memory is allocated for what they
// bound.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace traind {

#define L(name, value, unit, text) inline constexpr int64_t name = value;
#include "engine/base/limits.def"
#undef L

struct LimitInfo {
  std::string_view name;
  int64_t value;
  std::string_view unit;
  std::string_view text;
};

inline constexpr LimitInfo kLimits[] = {
#define L(name, value, unit, text) {#name, value, unit, text},
#include "engine/base/limits.def"
#undef L
};

}  // namespace traind
