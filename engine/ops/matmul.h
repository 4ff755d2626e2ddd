// Matrix products: what linear.h is made of.
#pragma once

#include <cstdint>

#include "engine/base/status.h"
#include "engine/ops/context.h"
#include "engine/tensor/workspace.h"

namespace traind::ops {

enum class Transpose { kNo, kYes };

// c[M,N] = op(a)[M,K] · op(b)[K,N], or c += … if `accumulate`, or + bias[N] for each row if `biased`. A
// transposed operand is stored the other way round: a as [K,M], b as [N,K]. All row-major without gaps.
struct MatmulShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Transpose transpose_a = Transpose::kNo;
  Transpose transpose_b = Transpose::kNo;
  bool accumulate = false;
  bool biased = false;     // not with `accumulate`; the bias has c's type
  bool bf16 = false;       // a and b
  bool bf16_sums = false;  // c too, which is rounded once

  bool operator==(const MatmulShape&) const = default;
};

struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;  // where the shape is biased
  void* c = nullptr;
};

// By oneDNN where its kernel keeps to the workspace (with AVX-512, mostly), else by our own (matmul_cpu.cc).
// Needs LinearWorkspaceBytes(threads).
Status Multiply(Context& context, const MatmulShape& shape, const MatmulOperands& at, Workspace workspace);

}  // namespace traind::ops
