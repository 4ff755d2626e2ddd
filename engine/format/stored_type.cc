// Names of element types; half precision as single.
#include "engine/format/stored_type.h"

#include <bit>
#include <cstring>
#include <utility>

namespace traind::format {
namespace {

constexpr std::pair<std::string_view, StoredType> kTypes[] = {
    {"F32", StoredType::kF32},        {"BF16", StoredType::kBF16},     {"F16", StoredType::kF16},
    {"F64", StoredType::kOther8},     {"I64", StoredType::kOther8},    {"U64", StoredType::kOther8},
    {"C64", StoredType::kOther8},     {"I32", StoredType::kOther4},    {"U32", StoredType::kOther4},
    {"I16", StoredType::kOther2},     {"U16", StoredType::kOther2},    {"I8", StoredType::kOther1},
    {"U8", StoredType::kOther1},      {"BOOL", StoredType::kOther1},   {"F8_E4M3", StoredType::kOther1},
    {"F8_E5M2", StoredType::kOther1}, {"F8_E8M0", StoredType::kOther1}};

float FromBF16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// IEEE 754: one bit of sign, five of exponent (bias 15), ten of fraction.
float FromF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;  // subnormal, or zero
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

}  // namespace

std::optional<StoredType> ParseStoredType(std::string_view name) {
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return std::nullopt;
}

void ConvertToFloat(StoredType type, std::span<const std::byte> stored, std::span<float> out) {
  if (type == StoredType::kF32) {
    std::memcpy(out.data(), stored.data(), out.size_bytes());
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, stored.data() + 2 * i, sizeof bits);
    out[i] = type == StoredType::kBF16 ? FromBF16(bits) : FromF16(bits);
  }
}

}  // namespace traind::format
