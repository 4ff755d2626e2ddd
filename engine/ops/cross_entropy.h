// Softmax and cross-entropy over the vocabulary, in one pass and in place.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"
#include "engine/tensor/workspace.h"

namespace traind::ops {

struct CrossEntropyShape {
  int64_t rows = 0;
  int64_t vocab = 0;
};

// *loss_sum += Σ_r (log Σ_v exp(logits[r,v]) − logits[r,target[r]]), in double, in the order of the rows.
// TOKEN_OUT_OF_RANGE if a target is not in [0, vocab). Needs CrossEntropyWorkspaceBytes(rows).
template <typename T>
Status CrossEntropyForward(Context& context, const CrossEntropyShape& shape, const int32_t* target_R,
                           const T* logits_RV, double* loss_sum, Workspace workspace);

// The same, and turns the logits into their gradient: (softmax(logits[r]) − onehot(target[r])) · scale.
// With scale = 1 / tokens of the whole step, gradients add up to those of the mean loss whatever the
// micro-batches.
template <typename T>
Status CrossEntropyForwardBackward(Context& context, const CrossEntropyShape& shape, const int32_t* target_R,
                                   float scale, T* logits_RV, double* loss_sum, Workspace workspace);

}  // namespace traind::ops
