// Attention over a cache: checks and dispatch.
#include "engine/ops/cached_attention.h"

#include <string>

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

Status CachedAttentionForward(Context& context, const CachedAttentionShape& shape, const float* qkv,
                              float* cache, float* out_RHD) {
  constexpr std::string_view kOp = "cached attention forward";
  TRAIND_TRY(CheckArguments(kOp,
                            {{"rows", shape.rows},
                             {"capacity", shape.capacity},
                             {"heads", shape.heads},
                             {"kv_heads", shape.kv_heads},
                             {"head_size", shape.head_size}},
                            {qkv, cache, out_RHD}));
  if (shape.heads % shape.kv_heads != 0 || shape.head_size > kMaxHeadSize) {
    return Status(ErrorCode::INTERNAL, std::string(kOp) + ": heads are no multiple of key-value heads, or " +
                                           "larger than " + std::to_string(kMaxHeadSize));
  }
  if (shape.first < 0 || shape.first > shape.capacity - shape.rows) {
    return Status(ErrorCode::INTERNAL, std::string(kOp) + ": positions " + std::to_string(shape.first) +
                                           " to " + std::to_string(shape.first + shape.rows) +
                                           " in a cache of " + std::to_string(shape.capacity));
  }
  const int64_t positions = shape.first + shape.rows;
  const int64_t flops = 4 * shape.rows * shape.heads * positions * shape.head_size;
  context.kernels().cached_attention_forward(context.ThreadsFor(flops / 8), shape, qkv, cache, out_RHD);
  return Ok();
}

}  // namespace traind::ops
