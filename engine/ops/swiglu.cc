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

template <typename T>
Status SwigluForward(Context& context, const SwigluShape& shape, const T* gate_up_R2C, T* y_RC) {
  TRAIND_TRY(CheckArguments("swiglu forward", {{"rows", shape.rows}, {"channels", shape.channels}},
                            {gate_up_R2C, y_RC}));
  context.kernels().Of<T>().swiglu_forward(Threads(context, shape), shape.rows, shape.channels, gate_up_R2C,
                                           y_RC);
  return Ok();
}

template <typename T>
Status SwigluBackwardInput(Context& context, const SwigluShape& shape, const T* gate_up_R2C, const T* dy_RC,
                           T* dgate_up_R2C) {
  TRAIND_TRY(CheckArguments("swiglu backward_input", {{"rows", shape.rows}, {"channels", shape.channels}},
                            {gate_up_R2C, dy_RC, dgate_up_R2C}));
  context.kernels().Of<T>().swiglu_backward_input(Threads(context, shape), shape.rows, shape.channels,
                                                  gate_up_R2C, dy_RC, dgate_up_R2C);
  return Ok();
}

template Status SwigluForward(Context&, const SwigluShape&, const float*, float*);
template Status SwigluForward(Context&, const SwigluShape&, const Bfloat16*, Bfloat16*);
template Status SwigluBackwardInput(Context&, const SwigluShape&, const float*, const float*, float*);
template Status SwigluBackwardInput(Context&, const SwigluShape&, const Bfloat16*, const Bfloat16*,
                                    Bfloat16*);

}  // namespace traind::ops
