// Cross-entropy: checks, dispatch, and the sum of the rows' losses in their order.
#include "engine/ops/cross_entropy.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status Run(std::string_view op, Context& context, const CrossEntropyShape& shape, const int32_t* target,
           bool backward, float scale, float* logits, double* loss_sum, Workspace workspace) {
  TRAIND_TRY(CheckArguments(op, {{"rows", shape.rows}, {"vocab", shape.vocab}}, {target, logits, loss_sum}));
  TRAIND_TRY(CheckWorkspace(op, workspace, CrossEntropyWorkspaceBytes(shape.rows)));
  TRAIND_TRY(CheckIndices(op, shape.rows, target, shape.vocab));
  auto* row_loss = reinterpret_cast<double*>(workspace.data);
  constexpr int64_t kOperationsPerElement = 4;  // with its exponential
  context.kernels().cross_entropy(context.ThreadsFor(shape.rows * shape.vocab * kOperationsPerElement),
                                  shape.rows, shape.vocab, target, backward, scale, logits, row_loss);
  for (int64_t row = 0; row < shape.rows; ++row) *loss_sum += row_loss[row];
  return Ok();
}

}  // namespace

Status CrossEntropyForward(Context& context, const CrossEntropyShape& shape, const int32_t* target_R,
                           const float* logits_RV, double* loss_sum, Workspace workspace) {
  // The kernel writes to the logits in the backward case alone.
  return Run("cross_entropy forward", context, shape, target_R, false, 0, const_cast<float*>(logits_RV),
             loss_sum, workspace);
}

Status CrossEntropyForwardBackward(Context& context, const CrossEntropyShape& shape, const int32_t* target_R,
                                   float scale, float* logits_RV, double* loss_sum, Workspace workspace) {
  return Run("cross_entropy forward_backward", context, shape, target_R, true, scale, logits_RV, loss_sum,
             workspace);
}

}  // namespace traind::ops
