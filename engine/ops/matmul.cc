// Matrix products: oneDNN or our own kernel.
#include "engine/ops/matmul.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"
#include "engine/ops/onednn_matmul.h"

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

}  // namespace

Status Multiply(Context& context, const MatmulShape& shape, const void* a, const void* b, void* c,
                Workspace workspace) {
  TRAIND_TRY(CheckWorkspace("matrix product", workspace, LinearWorkspaceBytes(context.threads())));
  const int threads = Threads(context, shape);
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
