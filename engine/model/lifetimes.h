// Lifetimes made visible for tests: outside its lifetime a slot holds NaN and, under AddressSanitizer, may
// not be touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/memory.h"

namespace traind::model {

class LifetimeGuard {
 public:
  // Both are borrowed. Everything that does not live always is dead at first.
  LifetimeGuard(const plan::MemoryTable& table, std::byte* arena);
  // The arena may be touched again, all of it.
  ~LifetimeGuard();
  LifetimeGuard(const LifetimeGuard&) = delete;
  LifetimeGuard& operator=(const LifetimeGuard&) = delete;

  // A step or something between steps begins: what an abandoned step has left dies.
  void Reset();
  void Before(int64_t tick);
  void After(int64_t tick);

 private:
  void Begin(int32_t slot);
  void End(int32_t slot);

  const plan::MemoryTable& table_;
  std::byte* const arena_;
  std::vector<std::vector<int32_t>> begins_, ends_;  // by tick
  std::vector<bool> live_;                           // by slot
};

}  // namespace traind::model
