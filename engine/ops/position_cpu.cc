// Learned positions on the CPU.
#include "engine/ops/cpu_kernel.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

void Forward(int threads, int64_t batch, int64_t sequence, int64_t channels, const float* weight, float* x) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < batch * sequence; ++row) {
    const float* from = weight + row % sequence * channels;
    float* to = x + row * channels;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
  }
}

// Threads divide the positions, so that sequences are added in order whatever their number.
void BackwardWeight(int threads, int64_t batch, int64_t sequence, int64_t channels, const float* dx,
                    float* dweight) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t position = 0; position < sequence; ++position) {
    float* to = dweight + position * channels;
    for (int64_t b = 0; b < batch; ++b) {
      const float* from = dx + (b * sequence + position) * channels;
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
    }
  }
}

}  // namespace

void InstallPosition(CpuKernels& table) {
  table.position_forward = Forward;
  table.position_backward_weight = BackwardWeight;
}

}  // namespace traind::ops::TRAIND_KERNELS
