// Embedding: a row of a table for each token.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

struct EmbeddingShape {
  int64_t rows = 0;
  int64_t vocab = 0;
  int64_t channels = 0;
};

// y[r] = weight[token[r]]. TOKEN_OUT_OF_RANGE if a token is not in [0, vocab).
template <typename T>
Status EmbeddingForward(Context& context, const EmbeddingShape& shape, const int32_t* token_R,
                        const T* weight_VC, T* y_RC);

// dweight[token[r]] += dy[r], in the order of the rows.
template <typename T>
Status EmbeddingBackwardWeight(Context& context, const EmbeddingShape& shape, const int32_t* token_R,
                               const T* dy_RC, float* dweight_VC);

}  // namespace traind::ops
