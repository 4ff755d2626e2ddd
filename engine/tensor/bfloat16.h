// Bfloat16: the upper half of a float, the element type of bf16 training's weights and activations.
#pragma once

#include <bit>
#include <cstdint>

namespace traind {

// Only bits: arithmetic is done in fp32.
struct Bfloat16 {
  uint16_t bits;
  bool operator==(const Bfloat16&) const = default;
};

constexpr float ToFloat(Bfloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// The nearest, ties to even; not a number stays one.
constexpr Bfloat16 ToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return {0x7fc0};
  return {static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace traind
