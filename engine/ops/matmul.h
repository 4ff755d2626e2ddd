// Matrix products by oneDNN, prepared once per shape. The only place of operators that knows oneDNN.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/status.h"
#include "engine/device/device.h"
#include "engine/tensor/workspace.h"

namespace traind::ops {

enum class Transpose { kNo, kYes };

// c[M,N] = op(a)[M,K] · op(b)[K,N], or c += … if `accumulate`. A transposed operand is stored the other way
// round: a as [K,M], b as [N,K]. All row-major without gaps.
struct MatmulShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Transpose transpose_a = Transpose::kNo;
  Transpose transpose_b = Transpose::kNo;
  bool accumulate = false;

  bool operator==(const MatmulShape&) const = default;
};

// Used by one thread. Keeps at most kMaxPreparedProducts.
class MatmulCache {
 public:
  // Fixes oneDNN's instruction set for the process when it is first called; INTERNAL if oneDNN cannot start.
  static Result<std::unique_ptr<MatmulCache>> Create(const Capability& capability);
  ~MatmulCache();
  MatmulCache(const MatmulCache&) = delete;
  MatmulCache& operator=(const MatmulCache&) = delete;

  // `workspace` has LinearWorkspaceBytes(threads). OUT_OF_MEMORY or INTERNAL, with oneDNN's words, if the
  // product cannot be prepared or run.
  Status Multiply(const MatmulShape& shape, const float* a, const float* b, float* c, Workspace workspace);

  // The scratch that oneDNN asks for this product, unsplit; for the test of the workspace's cap.
  Result<int64_t> ScratchBytes(const MatmulShape& shape);

  // "oneDNN 2.6.3"
  static std::string LibraryVersion();

 private:
  struct Impl;
  explicit MatmulCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace traind::ops
