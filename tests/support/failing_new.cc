// Counters of one thread: what other threads allocate is their own affair.
#include "tests/support/failing_new.h"

#include <cstdlib>
#include <new>

namespace {

thread_local bool counting = false;
thread_local int64_t live = 0;           // allocations less frees while counting
thread_local int64_t until_failure = 0;  // 0: none fails
thread_local int64_t made = 0;

void* Allocate(std::size_t bytes) {
  if (counting) {
    ++made;
    if (until_failure > 0 && --until_failure == 0) throw std::bad_alloc();
  }
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (counting) ++live;
  return memory;
}

void* AllocateOrNull(std::size_t bytes) noexcept {
  try {
    return Allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Free(void* memory) {
  if (counting && memory != nullptr) --live;
  std::free(memory);
}

}  // namespace

// All forms that our code reaches: a sanitizer's own would not match these.
void* operator new(std::size_t bytes) {
  return Allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return Allocate(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return AllocateOrNull(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return AllocateOrNull(bytes);
}
void operator delete(void* memory) noexcept {
  Free(memory);
}
void operator delete[](void* memory) noexcept {
  Free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  Free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  Free(memory);
}

namespace traind::testing {

Failed RunFailing(const std::function<void()>& work, int64_t number) {
  live = made = 0;
  until_failure = number;
  counting = true;
  try {
    work();
  } catch (const std::bad_alloc&) {
  }
  counting = false;
  const bool reached = until_failure == 0;
  until_failure = 0;
  if (live != 0) return Failed::kLeaked;
  return reached ? Failed::kHeld : Failed::kNot;
}

int64_t FirstLeakingFailure(const std::function<void()>& work, int64_t* count) {
  work();  // what is made once and for all, such as tables, is made here
  for (int64_t number = 1;; ++number) {
    const Failed failed = RunFailing(work, number);
    if (failed == Failed::kLeaked) return number;
    if (failed == Failed::kHeld) continue;
    if (count != nullptr) *count = made;
    return 0;
  }
}

}  // namespace traind::testing
