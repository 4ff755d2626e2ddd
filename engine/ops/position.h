// Learned positions: a row of a table is added to each token by its place in the sequence.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

struct PositionShape {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t positions = 0;  // rows of the table: at least first + sequence
  int64_t channels = 0;
  int64_t first = 0;  // the position of a sequence's first row
};

// x[b,t] += weight[first + t].
template <typename T>
Status PositionForward(Context& context, const PositionShape& shape, const T* weight_PC, T* x_BTC);

// dweight[first + t] += Σ_b dx[b,t], in the order of b.
template <typename T>
Status PositionBackwardWeight(Context& context, const PositionShape& shape, const T* dx_BTC,
                              float* dweight_PC);

}  // namespace traind::ops
