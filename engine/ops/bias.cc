// Bias: checks and dispatch.
#include "engine/ops/bias.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status Check(std::string_view op, const BiasShape& shape, std::initializer_list<const void*> tensors) {
  return CheckArguments(op, {{"rows", shape.rows}, {"channels", shape.channels}}, tensors);
}

int Threads(const Context& context, const BiasShape& shape) {
  return context.ThreadsFor(shape.rows * shape.channels);
}

}  // namespace

Status BiasForward(Context& context, const BiasShape& shape, const float* bias_C, float* y_RC) {
  TRAIND_TRY(Check("bias forward", shape, {bias_C, y_RC}));
  context.kernels().bias_forward(Threads(context, shape), shape.rows, shape.channels, bias_C, y_RC);
  return Ok();
}

Status BiasBackwardWeight(Context& context, const BiasShape& shape, const float* dy_RC, float* dbias_C) {
  TRAIND_TRY(Check("bias backward_weight", shape, {dy_RC, dbias_C}));
  context.kernels().bias_backward_weight(Threads(context, shape), shape.rows, shape.channels, dy_RC, dbias_C);
  return Ok();
}

}  // namespace traind::ops
