// Matrix products: oneDNN or our own kernel.
#include "engine/ops/matmul.h"

#include <algorithm>

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"
#include "engine/ops/onednn_matmul.h"
#include "engine/tensor/tensor.h"

namespace traind::ops {

namespace {

// A core does about sixteen of a product's operations in the time of one of another operator's.
constexpr int64_t kFlopsPerOperation = 16;

// oneDNN reads an operand as it lies where it can; where b lies row by row, or a column by column, and they
// do not fit the caches, packing them as our kernel does is faster (88 against 80 % of the peak at
// 50257×768×1024 with a transposed, on Zen 5).
bool OnednnIsBest(const Context& context, const MatmulShape& shape) {
  constexpr int64_t kBytesInCaches = int64_t{4} << 20;
  if (shape.bf16) return context.device().capability().native_bf16;
  if (context.device().capability().instruction_set != InstructionSet::kAvx512) return false;
  if (shape.transpose_b == Transpose::kYes || shape.m < 64) return true;
  const int64_t a_bytes = shape.transpose_a == Transpose::kYes ? shape.m * shape.k * 4 : 0;
  return std::max(a_bytes, shape.n * shape.k * 4) <= kBytesInCaches;
}

int Threads(const Context& context, const MatmulShape& shape) {
  const double flops =
      2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  return context.ThreadsFor(static_cast<int64_t>(flops) / kFlopsPerOperation);
}

// Whether a is long, transposed and bf16: oneDNN packs it column by column out of rows that lie far apart,
// which takes as long as the product itself (the gradient of a head of 50257 outputs: 163 of 79 ms on two
// threads).
constexpr int64_t kTurnedDepth = 1024;

bool IsBestTurned(const MatmulShape& shape) {
  constexpr int64_t kLong = 8192;
  return shape.bf16 && !shape.bf16_sums && shape.transpose_a == Transpose::kYes &&
         shape.transpose_b == Transpose::kNo && !shape.biased && shape.m >= kLong;
}

// Turns a part by part into half of the workspace. False, and nothing is done, where oneDNN has no kernel.
Result<bool> MultiplyTurned(Context& context, const MatmulShape& shape, int threads, const MatmulOperands& at,
                            Workspace workspace) {
  const auto *a = static_cast<const Bfloat16*>(at.a), *b = static_cast<const Bfloat16*>(at.b);
  auto* const c = static_cast<float*>(at.c);
  const int64_t half = workspace.bytes / 2 / kSlotAlignment * kSlotAlignment;
  auto* const turned = reinterpret_cast<Bfloat16*>(workspace.data);
  const Workspace rest = {workspace.data + half, workspace.bytes - half};
  const int64_t rows = half / (kTurnedDepth * DTypeBytes(DType::kBFloat16));
  MatmulShape part = shape;
  part.transpose_a = Transpose::kNo;
  for (int64_t depth = 0; depth < shape.k; depth += kTurnedDepth) {
    part.k = std::min(kTurnedDepth, shape.k - depth);
    part.accumulate = shape.accumulate || depth > 0;
    for (int64_t row = 0; row < shape.m; row += rows) {
      part.m = std::min(rows, shape.m - row);
      context.kernels().turn(threads, part.k, part.m, shape.m, a + depth * shape.m + row, turned);
      const MatmulOperands part_at = {turned, b + depth * shape.n, nullptr, c + row * shape.n};
      TRAIND_ASSIGN(const bool done, context.onednn().Multiply(part, threads, part_at, rest));
      if (!done && depth + row == 0) return false;
      if (!done)
        return Status(ErrorCode::INTERNAL, "oneDNN computes the first part of a product, not the last");
    }
  }
  return true;
}

// False, and nothing but the bias is written, where oneDNN has no kernel.
Result<bool> MultiplyByOnednn(Context& context, const MatmulShape& shape, int threads,
                              const MatmulOperands& at, Workspace workspace) {
  if (!shape.biased) return context.onednn().Multiply(shape, threads, at, workspace);
  if (shape.bf16_sums) {
    context.kernels().bf16.bias_rows(threads, shape.m, shape.n, static_cast<const Bfloat16*>(at.bias),
                                     static_cast<Bfloat16*>(at.c));
  } else {
    context.kernels().fp32.bias_rows(threads, shape.m, shape.n, static_cast<const float*>(at.bias),
                                     static_cast<float*>(at.c));
  }
  MatmulShape onto = shape;
  onto.biased = false;
  onto.accumulate = true;
  return context.onednn().Multiply(onto, threads, at, workspace);
}

}  // namespace

Status Multiply(Context& context, const MatmulShape& shape, const MatmulOperands& at, Workspace workspace) {
  TRAIND_TRY(CheckWorkspace("matrix product", workspace, LinearWorkspaceBytes(context.threads())));
  const int threads = Threads(context, shape);
  const bool onednn = OnednnIsBest(context, shape);
  if (onednn && IsBestTurned(shape)) {
    TRAIND_ASSIGN(const bool done, MultiplyTurned(context, shape, threads, at, workspace));
    if (done) return Ok();
  }
  if (onednn) {
    TRAIND_ASSIGN(const bool done, MultiplyByOnednn(context, shape, threads, at, workspace));
    if (done) return Ok();
  }
  const auto own = shape.bf16 ? context.kernels().matmul_bf16 : context.kernels().matmul;
  own(threads, shape, at, reinterpret_cast<char*>(workspace.data));
  return Ok();
}

}  // namespace traind::ops
