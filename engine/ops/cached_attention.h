// Causal grouped-query attention of a few new positions over the keys and values of all positions so far,
// which are kept in a cache: how text is generated without computing its beginning again.
#pragma once

#include <cstdint>

#include "engine/ops/attention.h"
#include "engine/ops/context.h"

namespace traind::ops {

struct CachedAttentionShape {
  int64_t rows = 0;      // new positions
  int64_t first = 0;     // the first of them; those before it are in the cache
  int64_t capacity = 0;  // positions that the cache holds: at least first + rows
  int64_t heads = 0;     // a multiple of kv_heads
  int64_t kv_heads = 0;
  int64_t head_size = 0;  // as for attention
};

// Elements of one layer's cache: for each position its keys, then its values, as in a row of qkv.
constexpr int64_t AttentionCacheElements(int64_t capacity, int64_t kv_heads, int64_t head_size) {
  return capacity * 2 * kv_heads * head_size;
}

// Puts the new rows' keys and values (after RoPE) into the cache, then attends as AttentionForward does on a
// sequence of first + rows positions; the same up to rounding.
Status CachedAttentionForward(Context& context, const CachedAttentionShape& shape, const float* qkv,
                              float* cache, float* out_RHD);

}  // namespace traind::ops
