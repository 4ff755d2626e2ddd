// Matrix products on the CPU where oneDNN has no kernel that keeps to the workspace.
//
// Panels of both operands are packed so that the innermost loop reads them in order (Goto and van de Geijn
// 2008): kDepth × kColumns of b, shared by the threads, and kDepth × kRows of a, one per thread. A sum over
// the depth is never divided over threads, so their number does not change the bits.
#include "engine/ops/matmul.h"

#include <omp.h>

#include "engine/ops/cpu_kernel.h"
#include "engine/ops/tile_product.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

constexpr int kSliceRows = kLanes == 16 ? 12 : 6;  // of a, with their sums in registers
constexpr int64_t kSliceColumns = 2 * kLanes;      // of b
constexpr int64_t kRows = 8 * kSliceRows;
constexpr int64_t kColumns = 1024;
constexpr int64_t kDepth = 256;
constexpr int64_t kPanelA = kRows * kDepth, kPanelB = kColumns * kDepth;
static_assert((kPanelA + kPanelB) * 4 <= LinearWorkspaceBytes(1));
static_assert(2 * (kPanelA + kPanelB) * 4 <= LinearWorkspaceBytes(2));

int64_t Min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t Parts(int64_t value, int64_t size) {
  return (value + size - 1) / size;
}

// Elements along the sliced dimension (rows of a, columns of b) and along the depth lie this far apart.
struct Strides {
  int64_t along, depth;
};

// A whole slice whose elements lie one after the other along the depth.
template <int64_t kSlice>
void PackTransposed(const float* from, int64_t stride, int64_t depth, float* to) {
  constexpr int64_t kQuads = kSlice / 4 * 4;
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    for (int64_t i = 0; i < kQuads; i += 4) {
      TransposeQuads(from + i * stride + k, stride, to + k * kSlice + i, kSlice);
    }
    for (int64_t i = kQuads; i < kSlice; ++i) {
      for (int64_t step = 0; step < 4; ++step) to[(k + step) * kSlice + i] = from[i * stride + k + step];
    }
  }
  for (; k < depth; ++k) {
    for (int64_t i = 0; i < kSlice; ++i) to[k * kSlice + i] = from[i * stride + k];
  }
}

// `width` of `kSlice` elements for each of `depth` steps, padded with zeros.
template <int64_t kSlice>
void PackSlice(const float* from, Strides stride, int64_t width, int64_t depth, float* to) {
  if (width == kSlice && stride.depth == 1) return PackTransposed<kSlice>(from, stride.along, depth, to);
  if (width == kSlice && stride.along == 1) {
    for (int64_t k = 0; k < depth; ++k)
      __builtin_memcpy(to + k * kSlice, from + k * stride.depth, kSlice * 4);
    return;
  }
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < width; ++i) to[k * kSlice + i] = from[i * stride.along + k * stride.depth];
    for (int64_t i = width; i < kSlice; ++i) to[k * kSlice + i] = 0;
  }
}

template <bool kAdd>
void MultiplySlices(int64_t rows, int64_t columns, int64_t depth, const float* a, const float* b, Sums c) {
  const Left left = {a, 1, kSliceRows};
  const Right right = {b, kSliceColumns};
  if (rows == kSliceRows && columns == kSliceColumns) {
    for (int64_t row = 0; row < kSliceRows; ++row) {
      __builtin_prefetch(c.data + row * c.stride, 1);
      __builtin_prefetch(c.data + row * c.stride + kLanes, 1);
    }
    ProductBlock<kSliceRows, 2, kAdd>(depth, left, right, c);
    return;
  }
  float whole[kSliceRows * kSliceColumns] = {};
  ProductBlock<kSliceRows, 2, false>(depth, left, right, {whole, kSliceColumns});
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const float sum = whole[row * kSliceColumns + column];
      float& to = c.data[row * c.stride + column];
      to = kAdd ? to + sum : sum;
    }
  }
}

// What a step of the two outer loops works on.
struct Step {
  int64_t column, columns, depth_at, depth;
  bool add;
  const float* bias;  // of `columns`, to begin the sums with; or nullptr
};

void BeginWith(const float* bias, int64_t rows, int64_t columns, Sums c) {
  for (int64_t row = 0; row < rows; ++row) {
    __builtin_memcpy(c.data + row * c.stride, bias, (size_t)columns * sizeof(float));
  }
}

// All rows of one panel of a against some slices of the packed panel of b.
void MultiplyPanel(const MatmulShape& s, const Step& step, int64_t row, int64_t rows, int64_t first_slice,
                   int64_t last_slice, const float* a, const float* panel_b, float* panel_a, float* c) {
  const Strides stride = s.transpose_a == Transpose::kNo ? Strides{s.k, 1} : Strides{1, s.m};
  for (int64_t i = 0; i < rows; i += kSliceRows) {
    PackSlice<kSliceRows>(a + (row + i) * stride.along + step.depth_at * stride.depth, stride,
                          Min(kSliceRows, rows - i), step.depth, panel_a + i * step.depth);
  }
  for (int64_t slice = first_slice; slice < last_slice; ++slice) {
    const int64_t column = slice * kSliceColumns;
    const float* slice_b = panel_b + column * step.depth;
    for (int64_t i = 0; i < rows; i += kSliceRows) {
      const Sums sums = {c + (row + i) * s.n + step.column + column, s.n};
      const int64_t height = Min(kSliceRows, rows - i), width = Min(kSliceColumns, step.columns - column);
      if (step.bias != nullptr) BeginWith(step.bias + column, height, width, sums);
      if (step.add || step.bias != nullptr) {
        MultiplySlices<true>(height, width, step.depth, panel_a + i * step.depth, slice_b, sums);
      } else {
        MultiplySlices<false>(height, width, step.depth, panel_a + i * step.depth, slice_b, sums);
      }
    }
  }
}

// Every thread runs these; work is shared inside.
void PackB(const MatmulShape& s, const Step& step, const float* b, float* panel_b) {
  const Strides stride = s.transpose_b == Transpose::kNo ? Strides{1, s.n} : Strides{s.k, 1};
  const int64_t slices = Parts(step.columns, kSliceColumns);
#pragma omp for schedule(static) nowait
  for (int64_t slice = 0; slice < slices; ++slice) {
    const int64_t column = slice * kSliceColumns;
    PackSlice<kSliceColumns>(b + (step.column + column) * stride.along + step.depth_at * stride.depth, stride,
                             Min(kSliceColumns, step.columns - column), step.depth,
                             panel_b + column * step.depth);
  }
}

// The threads divide the rows, slice by slice, so that each has as many as the others; where there are few
// rows, panels of them and columns.
void MultiplyStep(const MatmulShape& s, const Step& step, const float* a, const float* panel_b,
                  float* panel_a, float* c) {
  const int64_t slices = Parts(step.columns, kSliceColumns), row_slices = Parts(s.m, kSliceRows);
  const int64_t panels = Parts(s.m, kRows), threads = omp_get_num_threads(), thread = omp_get_thread_num();
  if (panels >= threads) {
    const int64_t end = Min(s.m, row_slices * (thread + 1) / threads * kSliceRows);
    for (int64_t row = row_slices * thread / threads * kSliceRows; row < end; row += kRows) {
      MultiplyPanel(s, step, row, Min(kRows, end - row), 0, slices, a, panel_b, panel_a, c);
    }
    return;
  }
  const int64_t shares = Min(slices, Parts(threads, panels));
#pragma omp for schedule(static) nowait
  for (int64_t unit = 0; unit < panels * shares; ++unit) {
    const int64_t row = unit / shares * kRows, share = unit % shares;
    MultiplyPanel(s, step, row, Min(kRows, s.m - row), slices * share / shares, slices * (share + 1) / shares,
                  a, panel_b, panel_a, c);
  }
}

// While a panel of b is worked on, the next is packed into another place, so that threads wait for each other
// once a step. One thread waits for nobody and does with one place.
void Multiply(int threads, const MatmulShape& shape, const MatmulOperands& at, char* workspace) {
  const auto *a = (const float*)at.a, *b = (const float*)at.b, *bias = (const float*)at.bias;
  auto* const c = (float*)at.c;
  const int64_t depths = Parts(shape.k, kDepth), steps = depths * Parts(shape.n, kColumns);
  const int64_t places = threads > 1 ? 2 : 1;
  auto* const panels_b = (float*)workspace;
  const auto step_at = [&](int64_t i) {
    const int64_t column = i / depths * kColumns, depth = i % depths * kDepth;
    return Step{column,
                Min(kColumns, shape.n - column),
                depth,
                Min(kDepth, shape.k - depth),
                shape.accumulate || depth > 0,
                shape.biased && depth == 0 ? bias + column : nullptr};
  };
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    float* const panel_a = panels_b + places * kPanelB + omp_get_thread_num() * kPanelA;
    if (places > 1) {
      PackB(shape, step_at(0), b, panels_b);
#pragma omp barrier
    }
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t packed = places > 1 ? i + 1 : i;
      if (packed < steps) PackB(shape, step_at(packed), b, panels_b + packed % places * kPanelB);
      MultiplyStep(shape, step_at(i), a, panels_b + i % places * kPanelB, panel_a, c);
#pragma omp barrier
    }
  }
}

}  // namespace

void InstallMatmul(CpuKernels& table) {
  table.matmul = Multiply;
}

}  // namespace traind::ops::TRAIND_KERNELS
