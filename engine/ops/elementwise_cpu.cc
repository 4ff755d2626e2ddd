// Elementwise operators on the CPU.
#include "engine/ops/cpu_kernel.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

void AddKernel(int threads, int64_t elements, const float* a, const float* b, float* y) {
#pragma omp parallel for simd num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t i = 0; i < elements; ++i) y[i] = a[i] + b[i];
}

void FillKernel(int threads, int64_t elements, float value, float* x) {
#pragma omp parallel for simd num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t i = 0; i < elements; ++i) x[i] = value;
}

void ScaleKernel(int threads, int64_t elements, float factor, float* x) {
#pragma omp parallel for simd num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t i = 0; i < elements; ++i) x[i] *= factor;
}

}  // namespace

void InstallElementwise(CpuKernels& table) {
  table.add = AddKernel;
  table.fill = FillKernel;
  table.scale = ScaleKernel;
}

}  // namespace traind::ops::TRAIND_KERNELS
