// SwiGLU: checks and dispatch.
#include "engine/ops/swiglu.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

int Threads(const Context& context, const SwigluShape& shape) {
  constexpr int64_t kOperationsPerElement = 4;  // with its exponential
  return context.ThreadsFor(shape.rows * shape.channels * kOperationsPerElement);
}

}  // namespace

Status SwigluForward(Context& context, const SwigluShape& shape, const float* gate_up_R2C, float* y_RC) {
  TRAIND_TRY(CheckArguments("swiglu forward", {{"rows", shape.rows}, {"channels", shape.channels}},
                            {gate_up_R2C, y_RC}));
  context.kernels().swiglu_forward(Threads(context, shape), shape.rows, shape.channels, gate_up_R2C, y_RC);
  return Ok();
}

Status SwigluBackwardInput(Context& context, const SwigluShape& shape, const float* gate_up_R2C,
                           const float* dy_RC, float* dgate_up_R2C) {
  TRAIND_TRY(CheckArguments("swiglu backward_input", {{"rows", shape.rows}, {"channels", shape.channels}},
                            {gate_up_R2C, dy_RC, dgate_up_R2C}));
  context.kernels().swiglu_backward_input(Threads(context, shape), shape.rows, shape.channels, gate_up_R2C,
                                          dy_RC, dgate_up_R2C);
  return Ok();
}

}  // namespace traind::ops
