// Measures arithmetic and memory at their best.
#include "tests/bench/peak_rate.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/clock.h"

namespace traind::bench {
namespace {

constexpr int64_t kRounds = 1 << 20;
constexpr int kRepetitions = 5;
constexpr int kSums = 16;  // independent, so that latency does not matter

// The best of some repetitions on all threads at once; `work` returns something that depends on all of it.
double BestSeconds(int threads, const std::function<double(int)>& work) {
  double best = 1e30, sink = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    double end = 0;
    const double begin = SystemClock().MonotonicSeconds();
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sink) reduction(max : end)
    for (int thread = 0; thread < threads; ++thread) {
      sink += work(thread);
      end = SystemClock().MonotonicSeconds();
    }
    best = std::min(best, end - begin);
  }
  return sink == 42 ? 0 : best;
}

// One function per instruction, because each is compiled for its processors. The instruction is written out:
// contracted or not, it is what is measured.
#define TRAIND_RATE_LOOP(name, target_features, bytes, instruction)               \
  __attribute__((target(target_features))) double name(int) {                     \
    typedef float Lanes __attribute__((vector_size(bytes)));                      \
    Lanes sum[kSums] = {};                                                        \
    Lanes factor = {};                                                            \
    for (int64_t i = 0; i < kRounds; ++i) {                                       \
      _Pragma("GCC unroll 16") for (int s = 0; s < kSums; ++s) {                  \
        __asm__ volatile(instruction " %1, %1, %0" : "+v"(sum[s]) : "v"(factor)); \
      }                                                                           \
    }                                                                             \
    return static_cast<double>(sum[0][0]);                                        \
  }

#if defined(__x86_64__)
TRAIND_RATE_LOOP(FmaAvx512, "avx512f", 64, "vfmadd231ps")
TRAIND_RATE_LOOP(FmaAvx2, "avx2,fma", 32, "vfmadd231ps")
TRAIND_RATE_LOOP(DotAvx512, "avx512f", 64, "vdpbf16ps")

double PeakFp32(int threads) {
  const bool wide = __builtin_cpu_supports("avx512f");
  if (!wide && !__builtin_cpu_supports("fma")) return 0;
  const double seconds = BestSeconds(threads, wide ? FmaAvx512 : FmaAvx2);
  return 2.0 * kRounds * kSums * (wide ? 16 : 8) * threads / seconds;
}

double PeakBf16(int threads) {
  if (!__builtin_cpu_supports("avx512bf16")) return 0;
  return 4.0 * kRounds * kSums * 16 * threads / BestSeconds(threads, DotAvx512);
}
#else
double PeakFp32(int) {
  return 0;
}
double PeakBf16(int) {
  return 0;
}
#endif

}  // namespace

double PeakFlops(Precision precision, int threads) {
  return precision == Precision::kFp32 ? PeakFp32(threads) : PeakBf16(threads);
}

double PeakBytes(int threads) {
  constexpr int64_t kElements = int64_t{32} << 20;
  std::vector<float> a(kElements, 1), b(kElements, 1), c(kElements, 1);
  const double seconds = BestSeconds(threads, [&](int thread) {
    const int64_t begin = kElements * thread / threads, end = kElements * (thread + 1) / threads;
    float* const to = c.data();
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) to[i] = a[static_cast<size_t>(i)] + b[static_cast<size_t>(i)];
    return static_cast<double>(to[begin]);
  });
  return 12.0 * kElements / seconds;
}

}  // namespace traind::bench
