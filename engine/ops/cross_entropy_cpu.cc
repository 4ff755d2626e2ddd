// Softmax and cross-entropy on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

// The largest element; not a number need not win, since the sum of exponentials shows it.
float RowMax(int64_t vocab, const float* logits) {
  float largest = logits[0];
  int64_t v = 0;
  if (vocab >= kLanes) {
    Vector lanes = Load(logits);
    for (; v + kLanes <= vocab; v += kLanes) {
      const Vector x = Load(logits + v);
      lanes = x > lanes ? x : lanes;
    }
    largest = Max(lanes);
  }
  for (; v < vocab; ++v) largest = logits[v] > largest ? logits[v] : largest;
  return largest;
}

// Σ exp(logits − largest), in blocks added up in double, and the exponentials in place if `keep`.
double RowSum(int64_t vocab, float largest, bool keep, float* logits) {
  constexpr int64_t kBlock = 64 * kLanes;
  double sum = 0;
  for (int64_t block = 0; block < vocab; block += kBlock) {
    const int64_t end = block + kBlock < vocab ? block + kBlock : vocab;
    Vector lanes = {};
    int64_t v = block;
    for (; v + kLanes <= end; v += kLanes) {
      const Vector e = Exp(Load(logits + v) - largest);
      if (keep) Store(logits + v, e);
      lanes += e;
    }
    if (v < end) {
      const int64_t left = end - v;
      const Vector e = Exp(LoadPart(logits + v, left) - largest);
      if (keep) StorePart(logits + v, e, left);
      for (int64_t i = 0; i < left; ++i) lanes[i] += e[i];
    }
    sum += (double)Sum(lanes);
  }
  return sum;
}

void CrossEntropy(int threads, int64_t rows, int64_t vocab, const int32_t* target, bool backward, float scale,
                  float* logits, double* row_loss) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    float* z = logits + row * vocab;
    const float largest = RowMax(vocab, z);
    const double wanted = z[target[row]];
    const double sum = RowSum(vocab, largest, backward, z);
    row_loss[row] = __builtin_log(sum) + (double)largest - wanted;
    if (!backward) continue;
    const float factor = (float)((double)scale / sum);
#pragma omp simd
    for (int64_t v = 0; v < vocab; ++v) z[v] *= factor;
    z[target[row]] -= scale;
  }
}

}  // namespace

void InstallCrossEntropy(CpuKernels& table) {
  table.cross_entropy = CrossEntropy;
}

}  // namespace traind::ops::TRAIND_KERNELS
