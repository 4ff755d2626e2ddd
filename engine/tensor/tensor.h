// Element types, shapes and sizes: the small values that the memory table, files and operators share.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace traind {

enum class DType { kFloat32, kBFloat16, kInt32 };

constexpr int64_t DTypeBytes(DType type) {
  return type == DType::kBFloat16 ? 2 : 4;
}

constexpr int64_t AlignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Up to four dimensions, outermost first (row-major). Products are the caller's to bound (ValidateModel).
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<int64_t> dimensions) {
    for (int64_t dimension : dimensions) {
      if (rank_ < kMaxRank) dimensions_[rank_++] = dimension;
    }
  }

  constexpr int rank() const { return rank_; }
  constexpr int64_t operator[](int axis) const { return dimensions_[axis]; }
  constexpr int64_t elements() const {
    int64_t product = 1;
    for (int axis = 0; axis < rank_; ++axis) product *= dimensions_[axis];
    return product;
  }
  constexpr int64_t bytes(DType type) const { return elements() * DTypeBytes(type); }
  bool operator==(const Shape&) const = default;

 private:
  int64_t dimensions_[kMaxRank] = {0, 0, 0, 0};
  int rank_ = 0;
};

// Every slot of an arena begins at a multiple of this: a cache line, and the widest vector.
inline constexpr int64_t kSlotAlignment = 64;

// An arena is a whole number of huge pages.
inline constexpr int64_t kArenaGranularity = int64_t{2} << 20;

}  // namespace traind
