// SwiGLU (Shazeer 2020): y = silu(gate) · up, silu(z) = z / (1 + exp(−z)), over a fused buffer whose rows
// hold the gates, then the ups.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

struct SwigluShape {
  int64_t rows = 0;
  int64_t channels = 0;  // of y; a row of gate_up has twice as many
};

template <typename T>
Status SwigluForward(Context& context, const SwigluShape& shape, const T* gate_up_R2C, T* y_RC);

// dgate = dy · up · s · (1 + gate · (1 − s)) with s = 1 / (1 + exp(−gate)); dup = dy · silu(gate).
// dgate_up may be gate_up itself.
template <typename T>
Status SwigluBackwardInput(Context& context, const SwigluShape& shape, const T* gate_up_R2C, const T* dy_RC,
                           T* dgate_up_R2C);

}  // namespace traind::ops
