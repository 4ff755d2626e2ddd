// Workspace: scratch memory that operators get from their caller, and how much each may need.
//
// The memory table has a row for it, so these formulas are caps that hold for every shape: an operator that
// would need more splits its work instead. tests/unit/ops/workspace_test.cc holds the real needs against
// them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace traind {

// Borrowed, aligned to kSlotAlignment; undefined content before and after an operator's call.
struct Workspace {
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

// Any matrix product, forward and backward: per thread, packed panels of operands that do not lie as the
// kernel reads them.
constexpr int64_t LinearWorkspaceBytes(int64_t threads) {
  return threads * (int64_t{2} << 20);
}

// Tiles of one query block against one key block, per thread; head_size ≤ 256.
constexpr int64_t AttentionWorkspaceBytes(int64_t threads) {
  return threads * (int64_t{1} << 20);
}

// Backward also the gradients of one head's keys and values in fp32, per thread; rows are padded to 16.
constexpr int64_t AttentionBackwardWorkspaceBytes(int64_t threads, int64_t sequence, int64_t head_size) {
  return threads * ((int64_t{1} << 20) + 2 * sequence * ((head_size + 15) / 16 * 16) * 4);
}

// The loss of each row, kept so that their sum has a fixed order.
constexpr int64_t CrossEntropyWorkspaceBytes(int64_t rows) {
  return rows * 8;
}

}  // namespace traind
