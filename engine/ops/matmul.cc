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

// Where neither operand is transposed oneDNN reads b as it lies; beyond the caches, packing it as our kernel
// does is faster (226 against 200 GFLOP/s at 1024×768×2304 on Zen 5).
bool OnednnIsBest(const Context& context, const MatmulShape& shape) {
  constexpr int64_t kBytesInCaches = int64_t{4} << 20;
  if (shape.bf16) return context.device().capability().native_bf16;
  if (context.device().capability().instruction_set != InstructionSet::kAvx512) return false;
  const bool packs = shape.transpose_a == Transpose::kYes || shape.transpose_b == Transpose::kYes;
  return packs || shape.n * shape.k * 4 <= kBytesInCaches || shape.m < 64;
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
         shape.transpose_b == Transpose::kNo && shape.m >= kLong;
}

// Turns a part by part into half of the workspace. False, and nothing is done, where oneDNN has no kernel.
Result<bool> MultiplyTurned(Context& context, const MatmulShape& shape, int threads, const Bfloat16* a,
                            const Bfloat16* b, float* c, Workspace workspace) {
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
      TRAIND_ASSIGN(const bool done, context.onednn().Multiply(part, threads, turned, b + depth * shape.n,
                                                               c + row * shape.n, rest));
      if (!done && depth + row == 0) return false;
      if (!done)
        return Status(ErrorCode::INTERNAL, "oneDNN computes the first part of a product, not the last");
    }
  }
  return true;
}

}  // namespace

Status Multiply(Context& context, const MatmulShape& shape, const void* a, const void* b, void* c,
                Workspace workspace) {
  TRAIND_TRY(CheckWorkspace("matrix product", workspace, LinearWorkspaceBytes(context.threads())));
  const int threads = Threads(context, shape);
  if (OnednnIsBest(context, shape) && IsBestTurned(shape)) {
    TRAIND_ASSIGN(const bool done,
                  MultiplyTurned(context, shape, threads, static_cast<const Bfloat16*>(a),
                                 static_cast<const Bfloat16*>(b), static_cast<float*>(c), workspace));
    if (done) return Ok();
  }
  if (OnednnIsBest(context, shape)) {
    TRAIND_ASSIGN(const bool done, context.onednn().Multiply(shape, threads, a, b, c, workspace));
    if (done) return Ok();
  }
  char* const scratch = reinterpret_cast<char*>(workspace.data);
  if (shape.bf16) {
    context.kernels().matmul_bf16(threads, shape, static_cast<const Bfloat16*>(a),
                                  static_cast<const Bfloat16*>(b), c, scratch);
  } else {
    context.kernels().matmul(threads, shape, static_cast<const float*>(a), static_cast<const float*>(b),
                             static_cast<float*>(c), scratch);
  }
  return Ok();
}

}  // namespace traind::ops
