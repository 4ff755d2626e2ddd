// Cross-entropy: checks, dispatch, and the sum of the rows' losses in their order.
#include "engine/ops/cross_entropy.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

template <typename T>
Status Run(std::string_view op, Context& context, const CrossEntropyShape& shape, const int32_t* target,
           bool backward, float scale, T* logits, double* loss_sum, Workspace workspace) {
  TRAIND_TRY(CheckArguments(op, {{"rows", shape.rows}, {"vocab", shape.vocab}}, {target, logits, loss_sum}));
  TRAIND_TRY(CheckWorkspace(op, workspace, CrossEntropyWorkspaceBytes(shape.rows)));
  TRAIND_TRY(CheckIndices(op, shape.rows, target, shape.vocab));
  auto* row_loss = reinterpret_cast<double*>(workspace.data);
  constexpr int64_t kOperationsPerElement = 4;  // with its exponential
  context.kernels().Of<T>().cross_entropy(
      context.ThreadsFor(shape.rows * shape.vocab * kOperationsPerElement), shape.rows, shape.vocab, target,
      backward, scale, logits, row_loss);
  for (int64_t row = 0; row < shape.rows; ++row) *loss_sum += row_loss[row];
  return Ok();
}

}  // namespace

template <typename T>
Status CrossEntropyForward(Context& context, const CrossEntropyShape& shape, const int32_t* target_R,
                           const T* logits_RV, double* loss_sum, Workspace workspace) {
  // The kernel writes to the logits in the backward case alone.
  return Run("cross_entropy forward", context, shape, target_R, false, 0, const_cast<T*>(logits_RV), loss_sum,
             workspace);
}

template <typename T>
Status CrossEntropyForwardBackward(Context& context, const CrossEntropyShape& shape, const int32_t* target_R,
                                   float scale, T* logits_RV, double* loss_sum, Workspace workspace) {
  return Run("cross_entropy forward_backward", context, shape, target_R, true, scale, logits_RV, loss_sum,
             workspace);
}

template Status CrossEntropyForward(Context&, const CrossEntropyShape&, const int32_t*, const float*, double*,
                                    Workspace);
template Status CrossEntropyForward(Context&, const CrossEntropyShape&, const int32_t*, const Bfloat16*,
                                    double*, Workspace);
template Status CrossEntropyForwardBackward(Context&, const CrossEntropyShape&, const int32_t*, float, float*,
                                            double*, Workspace);
template Status CrossEntropyForwardBackward(Context&, const CrossEntropyShape&, const int32_t*, float,
                                            Bfloat16*, double*, Workspace);

}  // namespace traind::ops
