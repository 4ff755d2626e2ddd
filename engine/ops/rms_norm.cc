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

template <typename T>
Status RmsNormForward(Context& context, const RmsNormShape& shape, const T* x_RC, const T* weight_C, T* y_RC,
                      float* rstd_R) {
  TRAIND_TRY(Check("rms_norm forward", shape, {x_RC, weight_C, y_RC, rstd_R}));
  context.kernels().Of<T>().rms_norm_forward(Threads(context, shape), shape.rows, shape.channels,
                                             shape.epsilon, x_RC, nullptr, weight_C, nullptr, y_RC, rstd_R);
  return Ok();
}

template <typename T>
Status ResidualRmsNormForward(Context& context, const RmsNormShape& shape, const T* residual_RC,
                              const T* branch_RC, const T* weight_C, T* sum_RC, T* y_RC, float* rstd_R) {
  TRAIND_TRY(
      Check("residual_rms_norm forward", shape, {residual_RC, branch_RC, weight_C, sum_RC, y_RC, rstd_R}));
  context.kernels().Of<T>().rms_norm_forward(Threads(context, shape), shape.rows, shape.channels,
                                             shape.epsilon, residual_RC, branch_RC, weight_C, sum_RC, y_RC,
                                             rstd_R);
  return Ok();
}

template <typename T>
Status RmsNormBackwardInput(Context& context, const RmsNormShape& shape, const T* x_RC, const T* weight_C,
                            const float* rstd_R, const T* dy_RC, T* dx_RC) {
  TRAIND_TRY(Check("rms_norm backward_input", shape, {x_RC, weight_C, rstd_R, dy_RC, dx_RC}));
  context.kernels().Of<T>().rms_norm_backward_input(Threads(context, shape), shape.rows, shape.channels, x_RC,
                                                    weight_C, rstd_R, dy_RC, dx_RC);
  return Ok();
}

template <typename T>
Status RmsNormBackwardWeight(Context& context, const RmsNormShape& shape, const T* x_RC, const float* rstd_R,
                             const T* dy_RC, float* dweight_C) {
  TRAIND_TRY(Check("rms_norm backward_weight", shape, {x_RC, rstd_R, dy_RC, dweight_C}));
  context.kernels().Of<T>().rms_norm_backward_weight(Threads(context, shape), shape.rows, shape.channels,
                                                     x_RC, rstd_R, dy_RC, dweight_C);
  return Ok();
}

template Status RmsNormForward(Context&, const RmsNormShape&, const float*, const float*, float*, float*);
template Status RmsNormForward(Context&, const RmsNormShape&, const Bfloat16*, const Bfloat16*, Bfloat16*,
                               float*);
template Status ResidualRmsNormForward(Context&, const RmsNormShape&, const float*, const float*,
                                       const float*, float*, float*, float*);
template Status ResidualRmsNormForward(Context&, const RmsNormShape&, const Bfloat16*, const Bfloat16*,
                                       const Bfloat16*, Bfloat16*, Bfloat16*, float*);
template Status RmsNormBackwardInput(Context&, const RmsNormShape&, const float*, const float*, const float*,
                                     const float*, float*);
template Status RmsNormBackwardInput(Context&, const RmsNormShape&, const Bfloat16*, const Bfloat16*,
                                     const float*, const Bfloat16*, Bfloat16*);
template Status RmsNormBackwardWeight(Context&, const RmsNormShape&, const float*, const float*, const float*,
                                      float*);
template Status RmsNormBackwardWeight(Context&, const RmsNormShape&, const Bfloat16*, const float*,
                                      const Bfloat16*, float*);

}  // namespace traind::ops
