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

template <typename T>
Status LayerNormForward(Context& context, const LayerNormShape& shape, const T* x_RC, const T* weight_C,
                        const T* bias_C, T* y_RC, float* statistic_R2) {
  TRAIND_TRY(Check("layer_norm forward", shape, {x_RC, weight_C, bias_C, y_RC, statistic_R2}));
  context.kernels().Of<T>().layer_norm_forward(Threads(context, shape), shape.rows, shape.channels,
                                               shape.epsilon, x_RC, nullptr, weight_C, bias_C, nullptr, y_RC,
                                               statistic_R2);
  return Ok();
}

template <typename T>
Status ResidualLayerNormForward(Context& context, const LayerNormShape& shape, const T* residual_RC,
                                const T* branch_RC, const T* weight_C, const T* bias_C, T* sum_RC, T* y_RC,
                                float* statistic_R2) {
  TRAIND_TRY(Check("residual_layer_norm forward", shape,
                   {residual_RC, branch_RC, weight_C, bias_C, sum_RC, y_RC, statistic_R2}));
  context.kernels().Of<T>().layer_norm_forward(Threads(context, shape), shape.rows, shape.channels,
                                               shape.epsilon, residual_RC, branch_RC, weight_C, bias_C,
                                               sum_RC, y_RC, statistic_R2);
  return Ok();
}

template <typename T>
Status LayerNormBackwardInput(Context& context, const LayerNormShape& shape, const T* x_RC, const T* weight_C,
                              const float* statistic_R2, const T* dy_RC, T* dx_RC) {
  TRAIND_TRY(Check("layer_norm backward_input", shape, {x_RC, weight_C, statistic_R2, dy_RC, dx_RC}));
  context.kernels().Of<T>().layer_norm_backward_input(Threads(context, shape), shape.rows, shape.channels,
                                                      x_RC, weight_C, statistic_R2, dy_RC, dx_RC);
  return Ok();
}

template <typename T>
Status LayerNormBackwardWeight(Context& context, const LayerNormShape& shape, const T* x_RC,
                               const float* statistic_R2, const T* dy_RC, float* dweight_C, float* dbias_C) {
  TRAIND_TRY(Check("layer_norm backward_weight", shape, {x_RC, statistic_R2, dy_RC, dweight_C, dbias_C}));
  context.kernels().Of<T>().layer_norm_backward_weight(Threads(context, shape), shape.rows, shape.channels,
                                                       x_RC, statistic_R2, dy_RC, dweight_C, dbias_C);
  return Ok();
}

template Status LayerNormForward(Context&, const LayerNormShape&, const float*, const float*, const float*,
                                 float*, float*);
template Status LayerNormForward(Context&, const LayerNormShape&, const Bfloat16*, const Bfloat16*,
                                 const Bfloat16*, Bfloat16*, float*);
template Status ResidualLayerNormForward(Context&, const LayerNormShape&, const float*, const float*,
                                         const float*, const float*, float*, float*, float*);
template Status ResidualLayerNormForward(Context&, const LayerNormShape&, const Bfloat16*, const Bfloat16*,
                                         const Bfloat16*, const Bfloat16*, Bfloat16*, Bfloat16*, float*);
template Status LayerNormBackwardInput(Context&, const LayerNormShape&, const float*, const float*,
                                       const float*, const float*, float*);
template Status LayerNormBackwardInput(Context&, const LayerNormShape&, const Bfloat16*, const Bfloat16*,
                                       const float*, const Bfloat16*, Bfloat16*);
template Status LayerNormBackwardWeight(Context&, const LayerNormShape&, const float*, const float*,
                                        const float*, float*, float*);
template Status LayerNormBackwardWeight(Context&, const LayerNormShape&, const Bfloat16*, const float*,
                                        const Bfloat16*, float*, float*);

}  // namespace traind::ops
