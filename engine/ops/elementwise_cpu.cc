// Elementwise operators on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/parallel.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

void Add(int threads, int64_t elements, const float* a, const float* b, float* y) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] = a[i] + b[i];
  });
}

void Fill(int threads, int64_t elements, float value, float* x) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) x[i] = value;
  });
}

void Scale(int threads, int64_t elements, float factor, float* x) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) x[i] *= factor;
  });
}

}  // namespace

void InstallElementwise(CpuKernels& table) {
  table.add = Add;
  table.fill = Fill;
  table.scale = Scale;
}

}  // namespace traind::ops::TRAIND_KERNELS
