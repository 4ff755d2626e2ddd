// RoPE on the CPU.
#include "engine/ops/rope.h"

#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

template <typename T>
void Rope(int threads, const RopeShape& shape, float direction, const float* table, T* qkv) {
  const int64_t half = shape.head_size / 2;
  const int64_t rotated_heads = shape.heads + shape.kv_heads;
  const int64_t row_elements = (shape.heads + 2 * shape.kv_heads) * shape.head_size;
  const int64_t rows = shape.batch * shape.sequence;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* cosine = table + row % shape.sequence * shape.head_size;
    const float* sine = cosine + half;
    for (int64_t head = 0; head < rotated_heads; ++head) {
      T* first = qkv + row * row_elements + head * shape.head_size;
      T* second = first + half;
      ForLanes(half, [=](int64_t i, int64_t lanes) {
        const Vector a = LoadUpTo(first + i, lanes), b = LoadUpTo(second + i, lanes);
        const Vector c = LoadUpTo(cosine + i, lanes), s = LoadUpTo(sine + i, lanes) * direction;
        StoreUpTo(first + i, a * c - b * s, lanes);
        StoreUpTo(second + i, b * c + a * s, lanes);
      });
    }
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.rope = Rope<T>;
}

}  // namespace

void InstallRope(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
