// Linear: checks, and each product as a matrix product of oneDNN.
#include "engine/ops/linear.h"

#include <type_traits>

#include "engine/ops/check.h"
#include "engine/ops/matmul.h"

namespace traind::ops {

namespace {

template <typename T>
constexpr bool kIsBf16 = std::is_same_v<T, Bfloat16>;

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

template <typename T>
Status LinearForward(Context& context, const LinearShape& shape, const T* x_RI, const T* weight_OI, T* y_RO,
                     Workspace workspace) {
  TRAIND_TRY(Check("linear forward", context, shape, {x_RI, weight_OI, y_RO}, workspace));
  const MatmulShape product = {
      shape.rows, shape.outputs, shape.inputs, Transpose::kNo, Turned(shape, WeightOrder::kInputOutput),
      false,      kIsBf16<T>,    kIsBf16<T>};
  return Multiply(context, product, x_RI, weight_OI, y_RO, workspace);
}

template <typename T>
Status LinearBackwardInput(Context& context, const LinearShape& shape, const T* dy_RO, const T* weight_OI,
                           T* dx_RI, Accumulate accumulate, Workspace workspace) {
  TRAIND_TRY(Check("linear backward_input", context, shape, {dy_RO, weight_OI, dx_RI}, workspace));
  const MatmulShape product = {shape.rows,
                               shape.inputs,
                               shape.outputs,
                               Transpose::kNo,
                               Turned(shape, WeightOrder::kOutputInput),
                               accumulate == Accumulate::kYes,
                               kIsBf16<T>,
                               kIsBf16<T>};
  return Multiply(context, product, dy_RO, weight_OI, dx_RI, workspace);
}

template <typename T>
Status LinearBackwardWeight(Context& context, const LinearShape& shape, const T* dy_RO, const T* x_RI,
                            float* dweight_OI, Workspace workspace) {
  TRAIND_TRY(Check("linear backward_weight", context, shape, {dy_RO, x_RI, dweight_OI}, workspace));
  if (shape.order == WeightOrder::kInputOutput) {
    const MatmulShape turned = {shape.inputs,   shape.outputs, shape.rows, Transpose::kYes,
                                Transpose::kNo, true,          kIsBf16<T>};
    return Multiply(context, turned, x_RI, dy_RO, dweight_OI, workspace);
  }
  const MatmulShape product = {shape.outputs,  shape.inputs, shape.rows, Transpose::kYes,
                               Transpose::kNo, true,         kIsBf16<T>};
  return Multiply(context, product, dy_RO, x_RI, dweight_OI, workspace);
}

template Status LinearForward(Context&, const LinearShape&, const float*, const float*, float*, Workspace);
template Status LinearForward(Context&, const LinearShape&, const Bfloat16*, const Bfloat16*, Bfloat16*,
                              Workspace);
template Status LinearBackwardInput(Context&, const LinearShape&, const float*, const float*, float*,
                                    Accumulate, Workspace);
template Status LinearBackwardInput(Context&, const LinearShape&, const Bfloat16*, const Bfloat16*, Bfloat16*,
                                    Accumulate, Workspace);
template Status LinearBackwardWeight(Context&, const LinearShape&, const float*, const float*, float*,
                                     Workspace);
template Status LinearBackwardWeight(Context&, const LinearShape&, const Bfloat16*, const Bfloat16*, float*,
                                     Workspace);

}  // namespace traind::ops
