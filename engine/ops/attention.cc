// Attention: checks and dispatch.
#include "engine/ops/attention.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status Check(std::string_view op, const AttentionShape& shape, std::initializer_list<const void*> tensors) {
  TRAIND_TRY(CheckArguments(op,
                            {{"batch", shape.batch},
                             {"sequence", shape.sequence},
                             {"heads", shape.heads},
                             {"kv_heads", shape.kv_heads},
                             {"head_size", shape.head_size}},
                            tensors));
  if (shape.heads % shape.kv_heads != 0) {
    return Status(ErrorCode::INTERNAL, std::string(op) + ": " + std::to_string(shape.heads) +
                                           " heads are no multiple of " + std::to_string(shape.kv_heads) +
                                           " key-value heads");
  }
  if (shape.head_size % 2 != 0 || shape.head_size > kMaxHeadSize) {
    return Status(ErrorCode::INTERNAL, std::string(op) + ": head_size is " + std::to_string(shape.head_size) +
                                           ", an even number up to " + std::to_string(kMaxHeadSize) +
                                           " is needed");
  }
  return Ok();
}

// Eight of its floating-point operations take the time of one operation.
int Threads(const Context& context, const AttentionShape& shape, int64_t products) {
  const int64_t flops_of_product =
      shape.batch * shape.heads * shape.sequence * shape.sequence * shape.head_size;  // the lower triangle
  return context.ThreadsFor(products * flops_of_product / 8);
}

}  // namespace

template <typename T>
Status AttentionForward(Context& context, const AttentionShape& shape, const T* qkv, T* out_RHD,
                        float* lse_BHT, Workspace workspace) {
  constexpr std::string_view kOp = "attention forward";
  TRAIND_TRY(Check(kOp, shape, {qkv, out_RHD, lse_BHT}));
  TRAIND_TRY(CheckWorkspace(kOp, workspace, AttentionWorkspaceBytes(context.threads())));
  context.kernels().Of<T>().attention_forward(Threads(context, shape, 2), shape, qkv, out_RHD, lse_BHT,
                                              reinterpret_cast<char*>(workspace.data));
  return Ok();
}

template <typename T>
Status AttentionBackwardInput(Context& context, const AttentionShape& shape, const T* qkv, const T* out_RHD,
                              const float* lse_BHT, const T* dout_RHD, T* dqkv, Workspace workspace) {
  constexpr std::string_view kOp = "attention backward_input";
  TRAIND_TRY(Check(kOp, shape, {qkv, out_RHD, lse_BHT, dout_RHD, dqkv}));
  TRAIND_TRY(CheckWorkspace(
      kOp, workspace, AttentionBackwardWorkspaceBytes(context.threads(), shape.sequence, shape.head_size)));
  context.kernels().Of<T>().attention_backward_input(Threads(context, shape, 5), shape, qkv, out_RHD, lse_BHT,
                                                     dout_RHD, dqkv, reinterpret_cast<char*>(workspace.data));
  return Ok();
}

template Status AttentionForward(Context&, const AttentionShape&, const float*, float*, float*, Workspace);
template Status AttentionForward(Context&, const AttentionShape&, const Bfloat16*, Bfloat16*, float*,
                                 Workspace);
template Status AttentionBackwardInput(Context&, const AttentionShape&, const float*, const float*,
                                       const float*, const float*, float*, Workspace);
template Status AttentionBackwardInput(Context&, const AttentionShape&, const Bfloat16*, const Bfloat16*,
                                       const float*, const Bfloat16*, Bfloat16*, Workspace);

}  // namespace traind::ops
