// LayerNorm: checks and dispatch.
#include "engine/ops/layer_norm.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status Check(std::string_view op, const LayerNormShape& shape, std::initializer_list<const void*> tensors) {
  return CheckArguments(op, {{"rows", shape.rows}, {"channels", shape.channels}}, tensors);
}

int Threads(const Context& context, const LayerNormShape& shape) {
  return context.ThreadsFor(shape.rows * shape.channels);
}

}  // namespace

Status LayerNormForward(Context& context, const LayerNormShape& shape, const float* x_RC,
                        const float* weight_C, const float* bias_C, float* y_RC, float* statistic_R2) {
  TRAIND_TRY(Check("layer_norm forward", shape, {x_RC, weight_C, bias_C, y_RC, statistic_R2}));
  context.kernels().layer_norm_forward(Threads(context, shape), shape.rows, shape.channels, shape.epsilon,
                                       x_RC, nullptr, weight_C, bias_C, nullptr, y_RC, statistic_R2);
  return Ok();
}

Status ResidualLayerNormForward(Context& context, const LayerNormShape& shape, const float* residual_RC,
                                const float* branch_RC, const float* weight_C, const float* bias_C,
                                float* sum_RC, float* y_RC, float* statistic_R2) {
  TRAIND_TRY(Check("residual_layer_norm forward", shape,
                   {residual_RC, branch_RC, weight_C, bias_C, sum_RC, y_RC, statistic_R2}));
  context.kernels().layer_norm_forward(Threads(context, shape), shape.rows, shape.channels, shape.epsilon,
                                       residual_RC, branch_RC, weight_C, bias_C, sum_RC, y_RC, statistic_R2);
  return Ok();
}

Status LayerNormBackwardInput(Context& context, const LayerNormShape& shape, const float* x_RC,
                              const float* weight_C, const float* statistic_R2, const float* dy_RC,
                              float* dx_RC) {
  TRAIND_TRY(Check("layer_norm backward_input", shape, {x_RC, weight_C, statistic_R2, dy_RC, dx_RC}));
  context.kernels().layer_norm_backward_input(Threads(context, shape), shape.rows, shape.channels, x_RC,
                                              weight_C, statistic_R2, dy_RC, dx_RC);
  return Ok();
}

Status LayerNormBackwardWeight(Context& context, const LayerNormShape& shape, const float* x_RC,
                               const float* statistic_R2, const float* dy_RC, float* dweight_C,
                               float* dbias_C) {
  TRAIND_TRY(Check("layer_norm backward_weight", shape, {x_RC, statistic_R2, dy_RC, dweight_C, dbias_C}));
  context.kernels().layer_norm_backward_weight(Threads(context, shape), shape.rows, shape.channels, x_RC,
                                               statistic_R2, dy_RC, dweight_C, dbias_C);
  return Ok();
}

}  // namespace traind::ops
