// Embedding: checks and dispatch.
#include "engine/ops/embedding.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status Check(std::string_view op, const EmbeddingShape& shape, const int32_t* token,
             std::initializer_list<const void*> tensors) {
  TRAIND_TRY(CheckArguments(op, {{"rows", shape.rows}, {"vocab", shape.vocab}, {"channels", shape.channels}},
                            tensors));
  return CheckIndices(op, shape.rows, token, shape.vocab);
}

}  // namespace

template <typename T>
Status EmbeddingForward(Context& context, const EmbeddingShape& shape, const int32_t* token_R,
                        const T* weight_VC, T* y_RC) {
  TRAIND_TRY(Check("embedding forward", shape, token_R, {token_R, weight_VC, y_RC}));
  context.kernels().Of<T>().embedding_forward(context.ThreadsFor(shape.rows * shape.channels), shape.rows,
                                              shape.channels, token_R, weight_VC, y_RC);
  return Ok();
}

template <typename T>
Status EmbeddingBackwardWeight(Context& context, const EmbeddingShape& shape, const int32_t* token_R,
                               const T* dy_RC, float* dweight_VC) {
  TRAIND_TRY(Check("embedding backward_weight", shape, token_R, {token_R, dy_RC, dweight_VC}));
  context.kernels().Of<T>().embedding_backward_weight(context.ThreadsFor(shape.rows * shape.channels),
                                                      shape.rows, shape.channels, token_R, dy_RC, dweight_VC);
  return Ok();
}

template Status EmbeddingForward(Context&, const EmbeddingShape&, const int32_t*, const float*, float*);
template Status EmbeddingForward(Context&, const EmbeddingShape&, const int32_t*, const Bfloat16*, Bfloat16*);
template Status EmbeddingBackwardWeight(Context&, const EmbeddingShape&, const int32_t*, const float*,
                                        float*);
template Status EmbeddingBackwardWeight(Context&, const EmbeddingShape&, const int32_t*, const Bfloat16*,
                                        float*);

}  // namespace traind::ops
