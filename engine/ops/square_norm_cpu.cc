// The sum of squares on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

double SumOfSquares(int64_t elements, const float* x) {
  VectorDouble sum0 = {}, sum1 = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= elements; i += 2 * kLanes) {
    const VectorDouble x0 = __builtin_convertvector(Load(x + i), VectorDouble);
    const VectorDouble x1 = __builtin_convertvector(Load(x + i + kLanes), VectorDouble);
    sum0 += x0 * x0;
    sum1 += x1 * x1;
  }
  sum0 += sum1;
  double total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += sum0[lane];
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
