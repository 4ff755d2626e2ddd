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
Status LinearForward(Context& context, const LinearShape& shape, const T* x_RI, const T* weight_OI,
                     const std::type_identity_t<T>* bias_O, T* y_RO, Workspace workspace) {
  TRAIND_TRY(Check("linear forward", context, shape, {x_RI, weight_OI, y_RO}, workspace));
  const MatmulShape product = {.m = shape.rows,
                               .n = shape.outputs,
                               .k = shape.inputs,
                               .transpose_b = Turned(shape, WeightOrder::kInputOutput),
                               .biased = bias_O != nullptr,
                               .bf16 = kIsBf16<T>,
                               .bf16_sums = kIsBf16<T>};
  return Multiply(context, product, {x_RI, weight_OI, bias_O, y_RO}, workspace);
}

template <typename T>
Status LinearBackwardInput(Context& context, const LinearShape& shape, const T* dy_RO, const T* weight_OI,
                           T* dx_RI, Accumulate accumulate, Workspace workspace) {
  TRAIND_TRY(Check("linear backward_input", context, shape, {dy_RO, weight_OI, dx_RI}, workspace));
  const MatmulShape product = {.m = shape.rows,
                               .n = shape.inputs,
                               .k = shape.outputs,
                               .transpose_b = Turned(shape, WeightOrder::kOutputInput),
                               .accumulate = accumulate == Accumulate::kYes,
                               .bf16 = kIsBf16<T>,
                               .bf16_sums = kIsBf16<T>};
  return Multiply(context, product, {dy_RO, weight_OI, nullptr, dx_RI}, workspace);
}

template <typename T>
Status LinearBackwardWeight(Context& context, const LinearShape& shape, const T* dy_RO, const T* x_RI,
                            float* dweight_OI, Accumulate accumulate, Workspace workspace) {
  TRAIND_TRY(Check("linear backward_weight", context, shape, {dy_RO, x_RI, dweight_OI}, workspace));
  const bool input_output = shape.order == WeightOrder::kInputOutput;
  const MatmulShape product = {.m = input_output ? shape.inputs : shape.outputs,
                               .n = input_output ? shape.outputs : shape.inputs,
                               .k = shape.rows,
                               .transpose_a = Transpose::kYes,
                               .accumulate = accumulate == Accumulate::kYes,
                               .bf16 = kIsBf16<T>};
  const T *first = input_output ? x_RI : dy_RO, *second = input_output ? dy_RO : x_RI;
  return Multiply(context, product, {first, second, nullptr, dweight_OI}, workspace);
}

template Status LinearForward(Context&, const LinearShape&, const float*, const float*, const float*, float*,
                              Workspace);
template Status LinearForward(Context&, const LinearShape&, const Bfloat16*, const Bfloat16*, const Bfloat16*,
                              Bfloat16*, Workspace);
template Status LinearBackwardInput(Context&, const LinearShape&, const float*, const float*, float*,
                                    Accumulate, Workspace);
template Status LinearBackwardInput(Context&, const LinearShape&, const Bfloat16*, const Bfloat16*, Bfloat16*,
                                    Accumulate, Workspace);
template Status LinearBackwardWeight(Context&, const LinearShape&, const float*, const float*, float*,
                                     Accumulate, Workspace);
template Status LinearBackwardWeight(Context&, const LinearShape&, const Bfloat16*, const Bfloat16*, float*,
                                     Accumulate, Workspace);

}  // namespace traind::ops
