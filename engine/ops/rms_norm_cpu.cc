// RMSNorm on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/row_sums.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

float SumOfSquares(int64_t channels, const float* x) {
  return SumOver(channels, [=](int64_t c, int64_t count) {
    const Vector value = LoadUpTo(x + c, count);
    return value * value;
  });
}

// Σ dy·weight·x over one row.
float WeightedDot(int64_t channels, const float* dy, const float* weight, const float* x) {
  return SumOver(channels, [=](int64_t c, int64_t count) {
    return LoadUpTo(dy + c, count) * LoadUpTo(weight + c, count) * LoadUpTo(x + c, count);
  });
}

void Forward(int threads, int64_t rows, int64_t channels, float epsilon, const float* residual,
             const float* branch, const float* weight, float* sum, float* y, float* rstd) {
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
    const float mean = SumOfSquares(channels, x) / (float)channels;
    const float scale = 1.0F / __builtin_sqrtf(mean + epsilon);
    float* out = y + row * channels;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) out[c] = x[c] * scale * weight[c];
    rstd[row] = scale;
  }
}

void BackwardInput(int threads, int64_t rows, int64_t channels, const float* x, const float* weight,
                   const float* rstd, const float* dy, float* dx) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = x + row * channels;
    const float* gradient = dy + row * channels;
    float* out = dx + row * channels;
    const float scale = rstd[row];
    const float mean = WeightedDot(channels, gradient, weight, in) * scale / (float)channels;
    const float along = mean * scale * scale;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) out[c] += gradient[c] * weight[c] * scale - in[c] * along;
  }
}

// Threads divide the channels; each sums blocks of rows apart, which keeps rounding small when there are many
// rows.
void BackwardWeight(int threads, int64_t rows, int64_t channels, const float* x, const float* rstd,
                    const float* dy, float* dweight) {
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
        const float* in = x + row * channels + begin;
        const float* gradient = dy + row * channels + begin;
        const float scale = rstd[row];
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) sum[c] += gradient[c] * (in[c] * scale);
      }
      for (int64_t c = 0; c < width; ++c) dweight[begin + c] += sum[c];
    }
  }
}

}  // namespace

void InstallRmsNorm(CpuKernels& table) {
  table.rms_norm_forward = Forward;
  table.rms_norm_backward_input = BackwardInput;
  table.rms_norm_backward_weight = BackwardWeight;
}

}  // namespace traind::ops::TRAIND_KERNELS
