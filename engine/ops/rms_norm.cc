// RMSNorm: checks and dispatch.
#include "engine/ops/rms_norm.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status Check(std::string_view op, const RmsNormShape& shape, std::initializer_list<const void*> tensors) {
  return CheckArguments(op, {{"rows", shape.rows}, {"channels", shape.channels}}, tensors);
}

int Threads(const Context& context, const RmsNormShape& shape) {
  return context.ThreadsFor(shape.rows * shape.channels);
}

}  // namespace

Status RmsNormForward(Context& context, const RmsNormShape& shape, const float* x_RC, const float* weight_C,
                      float* y_RC, float* rstd_R) {
  TRAIND_TRY(Check("rms_norm forward", shape, {x_RC, weight_C, y_RC, rstd_R}));
  context.kernels().rms_norm_forward(Threads(context, shape), shape.rows, shape.channels, shape.epsilon, x_RC,
                                     nullptr, weight_C, nullptr, y_RC, rstd_R);
  return Ok();
}

Status ResidualRmsNormForward(Context& context, const RmsNormShape& shape, const float* residual_RC,
                              const float* branch_RC, const float* weight_C, float* sum_RC, float* y_RC,
                              float* rstd_R) {
  TRAIND_TRY(
      Check("residual_rms_norm forward", shape, {residual_RC, branch_RC, weight_C, sum_RC, y_RC, rstd_R}));
  context.kernels().rms_norm_forward(Threads(context, shape), shape.rows, shape.channels, shape.epsilon,
                                     residual_RC, branch_RC, weight_C, sum_RC, y_RC, rstd_R);
  return Ok();
}

Status RmsNormBackwardInput(Context& context, const RmsNormShape& shape, const float* x_RC,
                            const float* weight_C, const float* rstd_R, const float* dy_RC, float* dx_RC) {
  TRAIND_TRY(Check("rms_norm backward_input", shape, {x_RC, weight_C, rstd_R, dy_RC, dx_RC}));
  context.kernels().rms_norm_backward_input(Threads(context, shape), shape.rows, shape.channels, x_RC,
                                            weight_C, rstd_R, dy_RC, dx_RC);
  return Ok();
}

Status RmsNormBackwardWeight(Context& context, const RmsNormShape& shape, const float* x_RC,
                             const float* rstd_R, const float* dy_RC, float* dweight_C) {
  TRAIND_TRY(Check("rms_norm backward_weight", shape, {x_RC, rstd_R, dy_RC, dweight_C}));
  context.kernels().rms_norm_backward_weight(Threads(context, shape), shape.rows, shape.channels, x_RC,
                                             rstd_R, dy_RC, dweight_C);
  return Ok();
}

}  // namespace traind::ops
