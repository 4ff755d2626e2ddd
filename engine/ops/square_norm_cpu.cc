// The sum of squares on the CPU.
#include "engine/ops/cpu_kernel.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

// Sixteen sums, whatever the instruction set, so that the bits do not depend on it either.
double SumOfSquares(int64_t elements, const float* x) {
  constexpr int kSums = 16;
  double sum[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= elements; i += kSums) {
#pragma omp simd
    for (int lane = 0; lane < kSums; ++lane) {
      const double value = x[i + lane];
      sum[lane] += value * value;
    }
  }
  double total = 0;
  for (int lane = 0; lane < kSums; ++lane) total += sum[lane];
  for (; i < elements; ++i) total += (double)x[i] * (double)x[i];
  return total;
}

// The parts are the same for any number of threads, so the order of the sum is.
double SquareNorm(int threads, int64_t elements, const float* x) {
  constexpr int kParts = 64;
  double part_sum[kParts];
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < kParts; ++part) {
    const int64_t begin = elements * part / kParts, end = elements * (part + 1) / kParts;
    part_sum[part] = SumOfSquares(end - begin, x + begin);
  }
  double total = 0;
  for (int part = 0; part < kParts; ++part) total += part_sum[part];
  return total;
}

}  // namespace

void InstallSquareNorm(CpuKernels& table) {
  table.square_norm = SquareNorm;
}

}  // namespace traind::ops::TRAIND_KERNELS
