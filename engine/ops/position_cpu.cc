// Learned positions on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

template <typename T>
void Forward(int threads, int64_t batch, int64_t sequence, int64_t channels, const T* weight, T* x) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < batch * sequence; ++row) {
    const T* from = weight + row % sequence * channels;
    T* to = x + row * channels;
    ForLanes(channels, [=](int64_t c, int64_t lanes) {
      StoreUpTo(to + c, LoadUpTo(to + c, lanes) + LoadUpTo(from + c, lanes), lanes);
    });
  }
}

// Threads divide the positions, so that sequences are added in order whatever their number.
template <typename T>
void BackwardWeight(int threads, int64_t batch, int64_t sequence, int64_t channels, const T* dx,
                    float* dweight) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t position = 0; position < sequence; ++position) {
    float* to = dweight + position * channels;
    for (int64_t b = 0; b < batch; ++b) {
      const T* from = dx + (b * sequence + position) * channels;
      ForLanes(channels, [=](int64_t c, int64_t lanes) {
        StoreUpTo(to + c, LoadUpTo(to + c, lanes) + LoadUpTo(from + c, lanes), lanes);
      });
    }
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.position_forward = Forward<T>;
  table.position_backward_weight = BackwardWeight<T>;
}

}  // namespace

void InstallPosition(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
