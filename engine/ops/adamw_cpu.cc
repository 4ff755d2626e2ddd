// AdamW on the CPU: one pass over gradient, weight and moments.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/parallel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

void Update(const AdamwFactors f, int64_t begin, int64_t end, const float* gradient, float* weight, float* m,
            float* v) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * f.gradient_scale;
    const float first = f.beta1 * m[i] + f.one_minus_beta1 * g;
    const float second = f.beta2 * v[i] + f.one_minus_beta2 * g * g;
    m[i] = first;
    v[i] = second;
    weight[i] = weight[i] * f.keep - f.step_size * first / (__builtin_sqrtf(second) * f.v_scale + f.epsilon);
  }
}

void Round(int64_t begin, int64_t end, const float* weight, Bfloat16* rounded) {
  ForLanes(end - begin, [=](int64_t i, int64_t lanes) {
    StoreUpTo(rounded + begin + i, LoadUpTo(weight + begin + i, lanes), lanes);
  });
}

// In blocks, so that weights are rounded while they are in the nearest cache.
void Adamw(int threads, const AdamwFactors& factors, int64_t elements, const float* gradient, float* weight,
           float* m, float* v, Bfloat16* rounded) {
  constexpr int64_t kBlock = 1024;
  ForParts(threads, elements, [&](int64_t begin, int64_t end) {
    if (rounded == nullptr) return Update(factors, begin, end, gradient, weight, m, v);
    for (int64_t block = begin; block < end; block += kBlock) {
      const int64_t last = block + kBlock < end ? block + kBlock : end;
      Update(factors, block, last, gradient, weight, m, v);
      Round(block, last, weight, rounded);
    }
  });
}

}  // namespace

void InstallAdamw(CpuKernels& table) {
  table.adamw = Adamw;
}

}  // namespace traind::ops::TRAIND_KERNELS
