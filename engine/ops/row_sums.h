// Sums over a row, for kernels.
//
// For `<op>_cpu.cc` only. Everything has internal linkage (cpu_kernels.h says why).
#pragma once

#include "engine/ops/simd.h"

namespace traind::ops {
namespace {

// Σ f(c … c + kLanes) over a row, in four sums to hide an addition's latency; f gets the position and how
// many of its lanes are inside the row, and is zero in those outside.
template <typename Function>
inline float SumOver(int64_t channels, const Function& f) {
  Vector sum[4] = {};
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[i] += f(c + i * kLanes, kLanes);
  }
  for (; c < channels; c += kLanes) sum[0] += f(c, channels - c < kLanes ? channels - c : kLanes);
  return Sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

}  // namespace
}  // namespace traind::ops
