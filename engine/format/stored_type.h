// The element types of safetensors files, and the conversion of those that hold weights to fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace traind::format {

// The three that hold weights, and what else a file may hold, by size alone.
enum class StoredType { kF32, kBF16, kF16, kOther1, kOther2, kOther4, kOther8 };

// The type of that name ("BF16"); nullopt for a name the format does not have, and for types of less than a
// byte.
std::optional<StoredType> ParseStoredType(std::string_view name);

constexpr int64_t StoredBytes(StoredType type) {
  switch (type) {
    case StoredType::kOther1:
      return 1;
    case StoredType::kBF16:
    case StoredType::kF16:
    case StoredType::kOther2:
      return 2;
    case StoredType::kOther8:
      return 8;
    case StoredType::kF32:
    case StoredType::kOther4:
      break;
  }
  return 4;
}

constexpr bool HoldsWeights(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kBF16 || type == StoredType::kF16;
}

// Little-endian elements of a type that holds weights as fp32, each exactly: `stored` has out.size()
// elements.
void ConvertToFloat(StoredType type, std::span<const std::byte> stored, std::span<float> out);

}  // namespace traind::format
