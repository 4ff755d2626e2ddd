// LayerNorm on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/row_sums.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

float SumOfRow(int64_t channels, const float* x) {
  return SumOver(channels, [=](int64_t c, int64_t count) { return LoadUpTo(x + c, count); });
}

// Around the mean, not as a difference of squares: a large mean would swallow the variance.
float SumOfSquares(int64_t channels, const float* x, float mean) {
  const Vector middle = Broadcast(mean);
  return SumOver(channels, [=](int64_t c, int64_t count) {
    Vector value = LoadUpTo(x + c, count) - middle;
    for (int64_t i = count; i < kLanes; ++i) value[i] = 0;
    return value * value;
  });
}

void Forward(int threads, int64_t rows, int64_t channels, float epsilon, const float* residual,
             const float* branch, const float* weight, const float* bias, float* sum, float* y,
             float* statistic) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* x = residual + row * channels;
    if (branch != nullptr) {
      const float* added = branch + row * channels;
      float* total = sum + row * channels;
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) total[c] = x[c] + added[c];
      x = total;
    }
    const float mean = SumOfRow(channels, x) / (float)channels;
    const float variance = SumOfSquares(channels, x, mean) / (float)channels;
    const float scale = 1.0F / __builtin_sqrtf(variance + epsilon);
    float* out = y + row * channels;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) out[c] = (x[c] - mean) * scale * weight[c] + bias[c];
    statistic[2 * row] = mean;
    statistic[2 * row + 1] = scale;
  }
}

void BackwardInput(int threads, int64_t rows, int64_t channels, const float* x, const float* weight,
                   const float* statistic, const float* dy, float* dx) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = x + row * channels;
    const float* gradient = dy + row * channels;
    float* out = dx + row * channels;
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
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) {
      out[c] += gradient[c] * weight[c] * scale - (shift + (in[c] - mean) * along);
    }
  }
}

// Threads divide the channels; each sums blocks of rows apart, which keeps rounding small when there are many
// rows.
void BackwardWeight(int threads, int64_t rows, int64_t channels, const float* x, const float* statistic,
                    const float* dy, float* dweight, float* dbias) {
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
        const float* in = x + row * channels + begin;
        const float* gradient = dy + row * channels + begin;
        const float mean = statistic[2 * row], scale = statistic[2 * row + 1];
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) {
          weight_sum[c] += gradient[c] * ((in[c] - mean) * scale);
          bias_sum[c] += gradient[c];
        }
      }
      for (int64_t c = 0; c < width; ++c) {
        dweight[begin + c] += weight_sum[c];
        dbias[begin + c] += bias_sum[c];
      }
    }
  }
}

}  // namespace

void InstallLayerNorm(CpuKernels& table) {
  table.layer_norm_forward = Forward;
  table.layer_norm_backward_input = BackwardInput;
  table.layer_norm_backward_weight = BackwardWeight;
}

}  // namespace traind::ops::TRAIND_KERNELS
