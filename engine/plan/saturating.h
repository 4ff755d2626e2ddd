// Arithmetic on sizes that stops at kTooLarge instead of overflowing, so that absurd sizes are compared and
// refused like any other.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace traind::plan {

// No machine has so many bytes: a size that reached it is only known to be at least that.
inline constexpr int64_t kTooLarge = std::numeric_limits<int64_t>::max();

// All arguments are >= 0.
constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  return a > kTooLarge - b ? kTooLarge : a + b;
}

constexpr int64_t SaturatingMultiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kTooLarge / b ? kTooLarge : a * b;
}

constexpr int64_t Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (factor == 0) return 0;
    product = SaturatingMultiply(product, factor);
  }
  return product;
}

// The next multiple of `unit`, a power of two; a saturated size stays saturated.
constexpr int64_t RoundUp(int64_t value, int64_t unit) {
  return value > kTooLarge - unit ? kTooLarge : (value + unit - 1) & -unit;
}

}  // namespace traind::plan
