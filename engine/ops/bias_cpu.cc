// Bias on the CPU.
#include "engine/ops/cpu_kernel.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

void Forward(int threads, int64_t rows, int64_t channels, const float* bias, float* y) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    float* to = y + row * channels;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) to[c] += bias[c];
  }
}

// As the norms' weights: threads divide the channels, blocks of rows are summed apart.
void BackwardWeight(int threads, int64_t rows, int64_t channels, const float* dy, float* dbias) {
  constexpr int64_t kChannelBlock = 256, kRowBlock = 64;
  const int64_t blocks = (channels + kChannelBlock - 1) / kChannelBlock;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block * kChannelBlock;
    const int64_t width = channels - begin < kChannelBlock ? channels - begin : kChannelBlock;
    for (int64_t first = 0; first < rows; first += kRowBlock) {
      const int64_t last = first + kRowBlock < rows ? first + kRowBlock : rows;
      float sum[kChannelBlock] = {};
      for (int64_t row = first; row < last; ++row) {
        const float* gradient = dy + row * channels + begin;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) sum[c] += gradient[c];
      }
      for (int64_t c = 0; c < width; ++c) dbias[begin + c] += sum[c];
    }
  }
}

}  // namespace

void InstallBias(CpuKernels& table) {
  table.bias_forward = Forward;
  table.bias_backward_weight = BackwardWeight;
}

}  // namespace traind::ops::TRAIND_KERNELS
