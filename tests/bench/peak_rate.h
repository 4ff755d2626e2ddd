// What this machine's cores reach at best: multiply-adds from registers, bytes from memory.
#pragma once

#include "engine/spec/training.h"

namespace traind::bench {

// FLOP/s of `threads` threads that do nothing but fused multiply-adds (bf16: dot products of pairs) on
// registers, in the widest vectors that the processor has. 0 for bf16 where there is no such instruction.
double PeakFlops(Precision precision, int threads);

// Bytes/s of `threads` threads that read two arrays and write a third, all far larger than the caches.
double PeakBytes(int threads);

}  // namespace traind::bench
