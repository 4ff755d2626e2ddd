// Small matrix products over tiles that lie in the caches, for kernels whose products are fused with other
// work.
//
// For `<op>_cpu.cc` only. Everything has internal linkage (cpu_kernels.h says why).
#pragma once

#include <stdint.h>

#include "engine/ops/simd.h"

namespace traind::ops {
namespace {

// Rows and vectors of the block that is kept in registers: with 32 registers of AVX-512, or 16 of the others,
// enough independent sums to hide an addition's latency.
constexpr int kBlockRows = kLanes == 16 ? 8 : 4;
constexpr int kBlockVectors = 2;
constexpr int64_t kBlockColumns = kBlockVectors * kLanes;

// A left operand by its strides: element (row, depth) is at row · row_stride + depth · depth_stride.
struct Left {
  const float* data;
  int64_t row_stride, depth_stride;
};

// A row-major matrix.
struct Right {
  const float* data;
  int64_t stride;
};

struct Sums {
  float* data;
  int64_t stride;
};

// kRows × kVectors vectors of sums, kept in registers over the whole depth.
template <int kRows, int kVectors, bool kAdd>
inline void ProductBlock(int64_t depth, Left a, Right b, Sums c) {
  Vector sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      sum[row][v] = Vector{};
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    const float* left = a.data + k * a.depth_stride;
    const float* right = b.data + k * b.stride;
    Vector column[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) column[v] = Load(right + v * kLanes);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const Vector factor = Broadcast(left[row * a.row_stride]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[row][v] += factor * column[v];
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* to = c.data + row * c.stride + v * kLanes;
      Store(to, kAdd ? Load(to) + sum[row][v] : sum[row][v]);
    }
  }
}

// c[rows, columns] = a[rows, depth] · b[depth, columns], or c += … if kAdd. Rows are rounded up to kBlockRows
// and columns to kLanes: the tiles must have that room, and the left and right operand something finite in
// it.
template <bool kAdd>
inline void Product(int64_t rows, int64_t columns, int64_t depth, Left a, Right b, Sums c) {
  for (int64_t column = 0; column < columns; column += kBlockColumns) {
    for (int64_t row = 0; row < rows; row += kBlockRows) {
      const Left left = {a.data + row * a.row_stride, a.row_stride, a.depth_stride};
      const Right right = {b.data + column, b.stride};
      const Sums sums = {c.data + row * c.stride + column, c.stride};
      if (columns - column > kLanes) {
        ProductBlock<kBlockRows, kBlockVectors, kAdd>(depth, left, right, sums);
      } else {
        ProductBlock<kBlockRows, 1, kAdd>(depth, left, right, sums);
      }
    }
  }
}

}  // namespace
}  // namespace traind::ops
