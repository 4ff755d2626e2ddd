// Softmax and cross-entropy on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

// The largest element; not a number need not win, since the sum of exponentials shows it.
template <typename T>
float RowMax(int64_t vocab, const T* logits) {
  float largest = LoadOne(logits);
  int64_t v = 0;
  if (vocab >= kLanes) {
    Vector lanes = Load(logits);
    for (; v + kLanes <= vocab; v += kLanes) {
      const Vector x = Load(logits + v);
      lanes = x > lanes ? x : lanes;
    }
    largest = Max(lanes);
  }
  for (; v < vocab; ++v) {
    const float x = LoadOne(logits + v);
    largest = x > largest ? x : largest;
  }
  return largest;
}

// Σ exp(logits − largest), in blocks added up in double, and the exponentials in place if `keep`.
template <typename T>
double RowSum(int64_t vocab, float largest, bool keep, T* logits) {
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

// The gradients of a row, from its exponentials where they were kept: in bf16 they would be rounded twice.
void RowGradient(int64_t vocab, float, float factor, float* kept) {
#pragma omp simd
  for (int64_t v = 0; v < vocab; ++v) kept[v] *= factor;
}

void RowGradient(int64_t vocab, float largest, float factor, Bfloat16* logits) {
  ForLanes(vocab, [=](int64_t v, int64_t lanes) {
    StoreUpTo(logits + v, Exp(LoadUpTo(logits + v, lanes) - largest) * factor, lanes);
  });
}

template <typename T>
void CrossEntropy(int threads, int64_t rows, int64_t vocab, const int32_t* target, bool backward, float scale,
                  T* logits, double* row_loss) {
  constexpr bool kKeeps = sizeof(T) == sizeof(float);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    T* z = logits + row * vocab;
    const float largest = RowMax(vocab, z);
    const float wanted = LoadOne(z + target[row]);
    const double sum = RowSum(vocab, largest, backward && kKeeps, z);
    row_loss[row] = __builtin_log(sum) + (double)largest - (double)wanted;
    if (!backward) continue;
    const float factor = (float)((double)scale / sum);
    const float p = kKeeps ? LoadOne(z + target[row]) : Exp(Broadcast(wanted - largest))[0];
    RowGradient(vocab, largest, factor, z);
    StoreOne(z + target[row], p * factor - scale);
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.cross_entropy = CrossEntropy<T>;
}

}  // namespace

void InstallCrossEntropy(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
