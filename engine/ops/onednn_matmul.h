// Matrix products by oneDNN, prepared once per shape.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/status.h"
#include "engine/ops/matmul.h"
#include "engine/tensor/workspace.h"

namespace traind::ops {

// Used by one thread; runs on as many as a call says. Keeps at most kMaxPreparedProducts.
class OnednnMatmul {
 public:
  // INTERNAL if oneDNN cannot start.
  static Result<std::unique_ptr<OnednnMatmul>> Create();
  ~OnednnMatmul();
  OnednnMatmul(const OnednnMatmul&) = delete;
  OnednnMatmul& operator=(const OnednnMatmul&) = delete;

  // False, and nothing is done, if oneDNN's kernel for it allocates its own scratch, or wants more of it than
  // the workspace or LinearWorkspaceBytes(threads) has: where it divides a sum over threads it may ask for
  // gigabytes. OUT_OF_MEMORY or INTERNAL, with oneDNN's words, if it fails.
  // The shape is not biased: with a bias oneDNN's kernels are prepared in buffers of their own.
  Result<bool> Multiply(const MatmulShape& shape, int threads, const MatmulOperands& at, Workspace workspace);

  // The scratch that oneDNN asks for, or −1 if Multiply would answer false.
  Result<int64_t> ScratchBytes(const MatmulShape& shape, int threads);

 private:
  struct Impl;
  explicit OnednnMatmul(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace traind::ops
