// LayerNorm on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/row_sums.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

template <typename T>
float SumOfRow(int64_t channels, const T* x) {
  return SumOver(channels, [=](int64_t c, int64_t count) { return LoadUpTo(x + c, count); });
}

// Around the mean, not as a difference of squares: a large mean would swallow the variance.
template <typename T>
float SumOfSquares(int64_t channels, const T* x, float mean) {
  const Vector middle = Broadcast(mean);
  return SumOver(channels, [=](int64_t c, int64_t count) {
    Vector value = LoadUpTo(x + c, count) - middle;
    for (int64_t i = count; i < kLanes; ++i) value[i] = 0;
    return value * value;
  });
}

template <typename T>
void Forward(int threads, int64_t rows, int64_t channels, float epsilon, const T* residual, const T* branch,
             const T* weight, const T* bias, T* sum, T* y, float* statistic) {
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
    const float mean = SumOfRow(channels, x) / (float)channels;
    const float variance = SumOfSquares(channels, x, mean) / (float)channels;
    const float scale = 1.0F / __builtin_sqrtf(variance + epsilon);
    T* out = y + row * channels;
    ForLanes(channels, [=](int64_t c, int64_t lanes) {
      const Vector normed = (LoadUpTo(x + c, lanes) - mean) * scale;
      StoreUpTo(out + c, normed * LoadUpTo(weight + c, lanes) + LoadUpTo(bias + c, lanes), lanes);
    });
    statistic[2 * row] = mean;
    statistic[2 * row + 1] = scale;
  }
}

template <typename T>
void BackwardInput(int threads, int64_t rows, int64_t channels, const T* x, const T* weight,
                   const float* statistic, const T* dy, T* dx) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const T* in = x + row * channels;
    const T* gradient = dy + row * channels;
    T* out = dx + row * channels;
    const float mean = statistic[2 * row], scale = statistic[2 * row + 1];
    const Vector middle = Broadcast(mean);
    const float g_sum = SumOver(channels, [=](int64_t c, int64_t count) {
      return LoadUpTo(gradient + c, count) * LoadUpTo(weight + c, count);
    });
    const float gn_sum = SumOver(channels, [=](int64_t c, int64_t count) {
      return LoadUpTo(gradient + c, count) * LoadUpTo(weight + c, count) * (LoadUpTo(in + c, count) - middle);
    });
    const float shift = g_sum * scale / (float)channels;
    const float along = gn_sum * scale * scale * scale / (float)channels;
    // The last operation before the addition is none that could be contracted with it: what is added has the
    // same bits as where it is added to zero.
    ForLanes(channels, [=](int64_t c, int64_t lanes) {
      const Vector g = LoadUpTo(gradient + c, lanes) * LoadUpTo(weight + c, lanes) * scale;
      const Vector change = g - (shift + (LoadUpTo(in + c, lanes) - mean) * along);
      StoreUpTo(out + c, LoadUpTo(out + c, lanes) + change, lanes);
    });
  }
}

// Threads divide the channels; each sums blocks of rows apart, which keeps rounding small when there are many
// rows.
template <typename T>
void BackwardWeight(int threads, int64_t rows, int64_t channels, const T* x, const float* statistic,
                    const T* dy, float* dweight, float* dbias) {
  constexpr int64_t kChannelBlock = 64, kRowBlock = 64;
  const int64_t blocks = (channels + kChannelBlock - 1) / kChannelBlock;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block * kChannelBlock;
    const int64_t width = channels - begin < kChannelBlock ? channels - begin : kChannelBlock;
    for (int64_t first = 0; first < rows; first += kRowBlock) {
      const int64_t last = first + kRowBlock < rows ? first + kRowBlock : rows;
      float weight_sum[kChannelBlock] = {}, bias_sum[kChannelBlock] = {};
      for (int64_t row = first; row < last; ++row) {
        const T* in = x + row * channels + begin;
        const T* gradient = dy + row * channels + begin;
        const float mean = statistic[2 * row], scale = statistic[2 * row + 1];
        ForLanes(width, [&](int64_t c, int64_t lanes) {
          const Vector g = LoadUpTo(gradient + c, lanes);
          const Vector normed = (LoadUpTo(in + c, lanes) - mean) * scale;
          Store(weight_sum + c, Load(weight_sum + c) + g * normed);
          Store(bias_sum + c, Load(bias_sum + c) + g);
        });
      }
      for (int64_t c = 0; c < width; ++c) {
        dweight[begin + c] += weight_sum[c];
        dbias[begin + c] += bias_sum[c];
      }
    }
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.layer_norm_forward = Forward<T>;
  table.layer_norm_backward_input = BackwardInput<T>;
  table.layer_norm_backward_weight = BackwardWeight<T>;
}

}  // namespace

void InstallLayerNorm(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
