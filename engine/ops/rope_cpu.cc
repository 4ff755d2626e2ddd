// RoPE on the CPU.
#include "engine/ops/rope.h"

#include "engine/ops/cpu_kernel.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

void Rope(int threads, const RopeShape& shape, float direction, const float* table, float* qkv) {
  const int64_t half = shape.head_size / 2;
  const int64_t rotated_heads = shape.heads + shape.kv_heads;
  const int64_t row_elements = (shape.heads + 2 * shape.kv_heads) * shape.head_size;
  const int64_t rows = shape.batch * shape.sequence;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* cosine = table + row % shape.sequence * shape.head_size;
    const float* sine = cosine + half;
    for (int64_t head = 0; head < rotated_heads; ++head) {
      float* first = qkv + row * row_elements + head * shape.head_size;
      float* second = first + half;
#pragma omp simd
      for (int64_t i = 0; i < half; ++i) {
        const float a = first[i], b = second[i], s = sine[i] * direction;
        first[i] = a * cosine[i] - b * s;
        second[i] = b * cosine[i] + a * s;
      }
    }
  }
}

}  // namespace

void InstallRope(CpuKernels& table) {
  table.rope = Rope;
}

}  // namespace traind::ops::TRAIND_KERNELS
