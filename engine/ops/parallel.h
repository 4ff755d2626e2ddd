// Dividing a range over threads, for kernels.
//
// For `<op>_cpu.cc` only. Everything has internal linkage (cpu_kernels.h says why).
#pragma once

#include <stdint.h>

namespace traind::ops {
namespace {

// Calls `work(begin, end)` once per thread, on parts that begin at cache lines and cover [0, count). The loop
// over a part is in a function of its own, which the compiler vectorises better than one inside a parallel
// region.
template <typename Work>
inline void ForParts(int threads, int64_t count, const Work& work) {
  constexpr int64_t kLine = 16;
  const int64_t lines = (count + kLine - 1) / kLine;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; ++part) {
    const int64_t begin = lines * part / threads * kLine, end = lines * (part + 1) / threads * kLine;
    work(begin, end < count ? end : count);
  }
}

}  // namespace
}  // namespace traind::ops
