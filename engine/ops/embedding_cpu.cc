// Embedding on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

template <typename T>
void Forward(int threads, int64_t rows, int64_t channels, const int32_t* token, const T* weight, T* y) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const T* from = weight + token[row] * channels;
    T* to = y + row * channels;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) to[c] = from[c];
  }
}

// Threads divide the channels, so that rows of one token are added in order whatever their number.
template <typename T>
void BackwardWeight(int threads, int64_t rows, int64_t channels, const int32_t* token, const T* dy,
                    float* dweight) {
  constexpr int64_t kBlock = 16;  // a cache line
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; ++part) {
    const int64_t begin = blocks * part / threads * kBlock;
    const int64_t unclipped = blocks * (part + 1) / threads * kBlock;
    const int64_t end = unclipped < channels ? unclipped : channels;
    for (int64_t row = 0; row < rows; ++row) {
      const T* from = dy + row * channels + begin;
      float* to = dweight + token[row] * channels + begin;
      ForLanes(end - begin, [=](int64_t c, int64_t lanes) {
        StoreUpTo(to + c, LoadUpTo(to + c, lanes) + LoadUpTo(from + c, lanes), lanes);
      });
    }
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.embedding_forward = Forward<T>;
  table.embedding_backward_weight = BackwardWeight<T>;
}

}  // namespace

void InstallEmbedding(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
