// Linear: checks, and each product as a matrix product of oneDNN.
#include "engine/ops/linear.h"

#include "engine/ops/check.h"
#include "engine/ops/matmul.h"

namespace traind::ops {

namespace {

Status Check(std::string_view op, const Context& context, const LinearShape& shape,
             std::initializer_list<const void*> tensors, Workspace workspace) {
  TRAIND_TRY(CheckArguments(op, {{"rows", shape.rows}, {"inputs", shape.inputs}, {"outputs", shape.outputs}},
                            tensors));
  return CheckWorkspace(op, workspace, LinearWorkspaceBytes(context.threads()));
}

// Whether the weight lies the other way round than a product wants it.
Transpose Turned(const LinearShape& shape, WeightOrder wanted) {
  return shape.order == wanted ? Transpose::kNo : Transpose::kYes;
}

}  // namespace

Status LinearForward(Context& context, const LinearShape& shape, const float* x_RI, const float* weight_OI,
                     float* y_RO, Workspace workspace) {
  TRAIND_TRY(Check("linear forward", context, shape, {x_RI, weight_OI, y_RO}, workspace));
  const MatmulShape product = {
      shape.rows, shape.outputs, shape.inputs, Transpose::kNo, Turned(shape, WeightOrder::kInputOutput),
      false};
  return Multiply(context, product, x_RI, weight_OI, y_RO, workspace);
}

Status LinearBackwardInput(Context& context, const LinearShape& shape, const float* dy_RO,
                           const float* weight_OI, float* dx_RI, Accumulate accumulate, Workspace workspace) {
  TRAIND_TRY(Check("linear backward_input", context, shape, {dy_RO, weight_OI, dx_RI}, workspace));
  const MatmulShape product = {shape.rows,
                               shape.inputs,
                               shape.outputs,
                               Transpose::kNo,
                               Turned(shape, WeightOrder::kOutputInput),
                               accumulate == Accumulate::kYes};
  return Multiply(context, product, dy_RO, weight_OI, dx_RI, workspace);
}

Status LinearBackwardWeight(Context& context, const LinearShape& shape, const float* dy_RO, const float* x_RI,
                            float* dweight_OI, Workspace workspace) {
  TRAIND_TRY(Check("linear backward_weight", context, shape, {dy_RO, x_RI, dweight_OI}, workspace));
  if (shape.order == WeightOrder::kInputOutput) {
    const MatmulShape turned = {shape.inputs,    shape.outputs,  shape.rows,
                                Transpose::kYes, Transpose::kNo, true};
    return Multiply(context, turned, x_RI, dy_RO, dweight_OI, workspace);
  }
  const MatmulShape product = {shape.outputs,   shape.inputs,   shape.rows,
                               Transpose::kYes, Transpose::kNo, true};
  return Multiply(context, product, dy_RO, x_RI, dweight_OI, workspace);
}

}  // namespace traind::ops
