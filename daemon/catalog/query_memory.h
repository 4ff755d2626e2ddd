// A bound on the memory of one query, from inside SQLite's allocator.
//
// SQLite can neither bound nor interrupt what preparing a statement takes, and a short statement can make it
// grow without end (common table expressions or sub-selects that double at each level). So its allocator asks
// here: past the bound, or once the query is interrupted, it gets no more memory, which it handles
// everywhere.
#pragma once

#include <atomic>
#include <cstdint>

namespace traind::daemon {

class QueryMemory {
 public:
  // Bounds what this thread takes from SQLite's allocator while it lives. `interrupted` is borrowed.
  QueryMemory(int64_t most_bytes, const std::atomic<bool>* interrupted);
  ~QueryMemory();
  QueryMemory(const QueryMemory&) = delete;
  QueryMemory& operator=(const QueryMemory&) = delete;

  bool exceeded() const { return exceeded_; }

  // Puts the bound into SQLite's allocator. Once per process, before SQLite's first use; later calls do
  // nothing.
  static void Install();

  // The allocator's own calls.
  bool Take(int64_t bytes);
  void Give(int64_t bytes) { used_ -= bytes; }

 private:
  int64_t most_bytes_;
  int64_t used_ = 0;
  bool exceeded_ = false;
  const std::atomic<bool>* interrupted_;
};

}  // namespace traind::daemon
