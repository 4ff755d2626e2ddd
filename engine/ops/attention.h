// Causal grouped-query attention over a fused qkv buffer (rope.h says its layout), after RoPE.
//
// Tiled with an online softmax (Dao 2023, FlashAttention-2): the T×T matrix never exists; the backward pass
// computes its tiles again from the logarithm of each row's sum. Query head h reads key-value head
// h / (heads / kv_heads). Forward needs AttentionWorkspaceBytes(threads), backward
// AttentionBackwardWorkspaceBytes(threads, sequence, head_size).
#pragma once

#include <cstdint>

#include "engine/ops/context.h"
#include "engine/tensor/workspace.h"

namespace traind::ops {

inline constexpr int64_t kMaxHeadSize = 256;

struct AttentionShape {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t heads = 0;  // a multiple of kv_heads
  int64_t kv_heads = 0;
  int64_t head_size = 0;  // even, at most kMaxHeadSize; multiples of 16 are fast
};

// For each query: p = softmax(q·k / sqrt(D)) over the keys at its own and earlier positions; out = Σ p·v.
// out holds the heads side by side, [R, H·D]. lse[b,h,t] = log Σ exp(q·k / sqrt(D)) is saved.
template <typename T>
Status AttentionForward(Context& context, const AttentionShape& shape, const T* qkv, T* out_RHD,
                        float* lse_BHT, Workspace workspace);

// Writes all of dqkv from dout, with what the forward pass read and wrote.
template <typename T>
Status AttentionBackwardInput(Context& context, const AttentionShape& shape, const T* qkv, const T* out_RHD,
                              const float* lse_BHT, const T* dout_RHD, T* dqkv, Workspace workspace);

}  // namespace traind::ops
