// Matrix products in bf16 on the CPU where oneDNN has no kernel that keeps to the workspace, or the processor
// no bf16: operands are widened slice by slice, sums are fp32 and rounded once.
#include "engine/ops/matmul.h"

#include <omp.h>

#include "engine/ops/cpu_kernel.h"
#include "engine/ops/tile_product.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

constexpr int64_t kRows = kBlockRows, kColumns = kBlockColumns;
constexpr int64_t kDepth = 2048;
static_assert((kRows + kColumns) * kDepth * 4 <= LinearWorkspaceBytes(1));

int64_t Min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Elements along the sliced dimension (rows of a, columns of b) and along the depth lie this far apart.
struct Strides {
  int64_t along, depth;
};

// `width` of `slice` elements for each of `depth` steps, padded with zeros.
void Widen(const Bfloat16* from, Strides stride, int64_t width, int64_t slice, int64_t depth, float* to) {
  for (int64_t i = 0; i < slice * depth; ++i) to[i] = 0;
  for (int64_t i = 0; i < width; ++i) {
    for (int64_t k = 0; k < depth; ++k) {
      to[k * slice + i] = LoadOne(from + i * stride.along + k * stride.depth);
    }
  }
}

template <typename T>
void Put(const MatmulShape& s, int64_t row, int64_t column, const float* sums, const T* bias, T* c) {
  for (int64_t i = 0; i < Min(kRows, s.m - row); ++i) {
    for (int64_t j = 0; j < Min(kColumns, s.n - column); ++j) {
      T* to = c + (row + i) * s.n + column + j;
      const float sum = sums[i * kColumns + j] + (s.biased ? LoadOne(bias + column + j) : 0.0F);
      StoreOne(to, s.accumulate ? LoadOne(to) + sum : sum);
    }
  }
}

void MultiplyTile(const MatmulShape& s, int64_t row, int64_t column, const MatmulOperands& at,
                  float* scratch) {
  const auto *a = (const Bfloat16*)at.a, *b = (const Bfloat16*)at.b;
  const Strides stride_a = s.transpose_a == Transpose::kNo ? Strides{s.k, 1} : Strides{1, s.m};
  const Strides stride_b = s.transpose_b == Transpose::kNo ? Strides{1, s.n} : Strides{s.k, 1};
  float* const slice_a = scratch;
  float* const slice_b = scratch + kRows * kDepth;
  float sums[kRows * kColumns] = {};
  for (int64_t k = 0; k < s.k; k += kDepth) {
    const int64_t depth = Min(kDepth, s.k - k);
    Widen(a + row * stride_a.along + k * stride_a.depth, stride_a, Min(kRows, s.m - row), kRows, depth,
          slice_a);
    Widen(b + column * stride_b.along + k * stride_b.depth, stride_b, Min(kColumns, s.n - column), kColumns,
          depth, slice_b);
    ProductBlock<kBlockRows, kBlockVectors, true>(depth, {slice_a, 1, kRows}, {slice_b, kColumns},
                                                  {sums, kColumns});
  }
  if (s.bf16_sums) {
    Put(s, row, column, sums, (const Bfloat16*)at.bias, (Bfloat16*)at.c);
  } else {
    Put(s, row, column, sums, (const float*)at.bias, (float*)at.c);
  }
}

void Multiply(int threads, const MatmulShape& s, const MatmulOperands& at, char* workspace) {
  const int64_t rows = (s.m + kRows - 1) / kRows, columns = (s.n + kColumns - 1) / kColumns;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t tile = 0; tile < rows * columns; ++tile) {
    auto* const scratch = (float*)(workspace + omp_get_thread_num() * LinearWorkspaceBytes(1));
    MultiplyTile(s, tile % rows * kRows, tile / rows * kColumns, at, scratch);
  }
}

// By way of a tile, so that both sides are read and written in whole cache lines.
void Turn(int threads, int64_t rows, int64_t columns, int64_t stride, const Bfloat16* from, Bfloat16* to) {
  constexpr int64_t kTile = 32;
  const int64_t down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t unit = 0; unit < down * across; ++unit) {
    const int64_t row = unit % down * kTile, column = unit / down * kTile;
    const int64_t height = Min(kTile, rows - row), width = Min(kTile, columns - column);
    Bfloat16 tile[kTile][kTile];
    for (int64_t r = 0; r < height; ++r) {
      const Bfloat16* line = from + (row + r) * stride + column;
      for (int64_t c = 0; c < width; ++c) tile[c][r] = line[c];
    }
    for (int64_t c = 0; c < width; ++c) {
      __builtin_memcpy(to + (column + c) * rows + row, tile[c], (size_t)height * sizeof(Bfloat16));
    }
  }
}

}  // namespace

void InstallMatmulBf16(CpuKernels& table) {
  table.matmul_bf16 = Multiply;
  table.turn = Turn;
}

}  // namespace traind::ops::TRAIND_KERNELS
