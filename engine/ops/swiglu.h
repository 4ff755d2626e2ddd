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

Status SwigluForward(Context& context, const SwigluShape& shape, const float* gate_up_R2C, float* y_RC);

// dgate = dy · up · s · (1 + gate · (1 − s)) with s = 1 / (1 + exp(−gate)); dup = dy · silu(gate).
// dgate_up may be gate_up itself.
Status SwigluBackwardInput(Context& context, const SwigluShape& shape, const float* gate_up_R2C,
                           const float* dy_RC, float* dgate_up_R2C);

}  // namespace traind::ops
