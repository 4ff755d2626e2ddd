// Bias on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

template <typename T>
void Rows(int threads, int64_t rows, int64_t channels, const T* bias, T* y) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    __builtin_memcpy(y + row * channels, bias, (uint64_t)channels * sizeof(T));
  }
}

// As the norms' weights: threads divide the channels, blocks of rows are summed apart.
template <typename T>
void BackwardWeight(int threads, int64_t rows, int64_t channels, const T* dy, float* dbias) {
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
        const T* gradient = dy + row * channels + begin;
        ForLanes(width, [&](int64_t c, int64_t lanes) {
          Store(sum + c, Load(sum + c) + LoadUpTo(gradient + c, lanes));
        });
      }
      for (int64_t c = 0; c < width; ++c) dbias[begin + c] += sum[c];
    }
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.bias_rows = Rows<T>;
  table.bias_backward_weight = BackwardWeight<T>;
}

}  // namespace

void InstallBias(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
