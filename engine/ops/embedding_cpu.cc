// Embedding on the CPU.
#include "engine/ops/cpu_kernel.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

void Forward(int threads, int64_t rows, int64_t channels, const int32_t* token, const float* weight,
             float* y) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = weight + token[row] * channels;
    float* to = y + row * channels;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) to[c] = from[c];
  }
}

// Threads divide the channels, so that rows of one token are added in order whatever their number.
void BackwardWeight(int threads, int64_t rows, int64_t channels, const int32_t* token, const float* dy,
                    float* dweight) {
  constexpr int64_t kBlock = 16;  // a cache line
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; ++part) {
    const int64_t begin = blocks * part / threads * kBlock;
    const int64_t unclipped = blocks * (part + 1) / threads * kBlock;
    const int64_t end = unclipped < channels ? unclipped : channels;
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = dy + row * channels;
      float* to = dweight + token[row] * channels;
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) to[c] += from[c];
    }
  }
}

}  // namespace

void InstallEmbedding(CpuKernels& table) {
  table.embedding_forward = Forward;
  table.embedding_backward_weight = BackwardWeight;
}

}  // namespace traind::ops::TRAIND_KERNELS
