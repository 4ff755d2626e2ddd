// RMSNorm on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/row_sums.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

template <typename T>
float SumOfSquares(int64_t channels, const T* x) {
  return SumOver(channels, [=](int64_t c, int64_t count) {
    const Vector value = LoadUpTo(x + c, count);
    return value * value;
  });
}

// Σ dy·weight·x over one row.
template <typename T>
float WeightedDot(int64_t channels, const T* dy, const T* weight, const T* x) {
  return SumOver(channels, [=](int64_t c, int64_t count) {
    return LoadUpTo(dy + c, count) * LoadUpTo(weight + c, count) * LoadUpTo(x + c, count);
  });
}

template <typename T>
void Forward(int threads, int64_t rows, int64_t channels, float epsilon, const T* residual, const T* branch,
             const T* weight, T* sum, T* y, float* rstd) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const T* x = residual + row * channels;
    if (branch != nullptr) {
      const T* added = branch + row * channels;
      T* total = sum + row * channels;
      ForLanes(channels, [=](int64_t c, int64_t lanes) {
        StoreUpTo(total + c, LoadUpTo(x + c, lanes) + LoadUpTo(added + c, lanes), lanes);
      });
      x = total;
    }
    const float mean = SumOfSquares(channels, x) / (float)channels;
    const float scale = 1.0F / __builtin_sqrtf(mean + epsilon);
    T* out = y + row * channels;
    ForLanes(channels, [=](int64_t c, int64_t lanes) {
      StoreUpTo(out + c, LoadUpTo(x + c, lanes) * scale * LoadUpTo(weight + c, lanes), lanes);
    });
    rstd[row] = scale;
  }
}

template <typename T>
void BackwardInput(int threads, int64_t rows, int64_t channels, const T* x, const T* weight,
                   const float* rstd, const T* dy, T* dx) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const T* in = x + row * channels;
    const T* gradient = dy + row * channels;
    T* out = dx + row * channels;
    const float scale = rstd[row];
    const float mean = WeightedDot(channels, gradient, weight, in) * scale / (float)channels;
    const float along = mean * scale * scale;
    ForLanes(channels, [=](int64_t c, int64_t lanes) {
      const Vector g = LoadUpTo(gradient + c, lanes) * LoadUpTo(weight + c, lanes) * scale;
      StoreUpTo(out + c, LoadUpTo(out + c, lanes) + (g - LoadUpTo(in + c, lanes) * along), lanes);
    });
  }
}

// Threads divide the channels; each sums blocks of rows apart, which keeps rounding small when there are many
// rows.
template <typename T>
void BackwardWeight(int threads, int64_t rows, int64_t channels, const T* x, const float* rstd, const T* dy,
                    float* dweight) {
  constexpr int64_t kChannelBlock = 64, kRowBlock = 64;
  const int64_t blocks = (channels + kChannelBlock - 1) / kChannelBlock;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block * kChannelBlock;
    const int64_t width = channels - begin < kChannelBlock ? channels - begin : kChannelBlock;
    for (int64_t first = 0; first < rows; first += kRowBlock) {
      const int64_t last = first + kRowBlock < rows ? first + kRowBlock : rows;
      float sum[kChannelBlock] = {};
      for (int64_t row = first; row < last; ++row) {
        const T* in = x + row * channels + begin;
        const T* gradient = dy + row * channels + begin;
        const float scale = rstd[row];
        ForLanes(width, [&](int64_t c, int64_t lanes) {
          const Vector normed = LoadUpTo(in + c, lanes) * scale;
          Store(sum + c, Load(sum + c) + LoadUpTo(gradient + c, lanes) * normed);
        });
      }
      for (int64_t c = 0; c < width; ++c) dweight[begin + c] += sum[c];
    }
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.rms_norm_forward = Forward<T>;
  table.rms_norm_backward_input = BackwardInput<T>;
  table.rms_norm_backward_weight = BackwardWeight<T>;
}

}  // namespace

void InstallRmsNorm(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
