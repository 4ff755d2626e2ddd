// Fills and poisons slots as they are born and die.
#include "engine/model/lifetimes.h"

#include <algorithm>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace traind::model {
namespace {

// As every byte, not a number in fp32 and in bf16.
constexpr int kNotANumber = 0xff;

}  // namespace

LifetimeGuard::LifetimeGuard(const plan::MemoryTable& table, std::byte* arena)
    : table_(table),
      arena_(arena),
      begins_(static_cast<size_t>(table.ticks)),
      ends_(static_cast<size_t>(table.ticks)),
      live_(table.slots.size()) {
  for (size_t i = 0; i < table.slots.size(); ++i) {
    const plan::Slot& slot = table.slots[i];
    if (slot.first_tick == 0 && slot.last_tick == table.ticks - 1) continue;  // lives always
    begins_[static_cast<size_t>(slot.first_tick)].push_back(static_cast<int32_t>(i));
    ends_[static_cast<size_t>(slot.last_tick)].push_back(static_cast<int32_t>(i));
    End(static_cast<int32_t>(i));
  }
  // A dead slot may share its address with one that lives always only if the table is wrong.
}

LifetimeGuard::~LifetimeGuard() {
  ASAN_UNPOISON_MEMORY_REGION(arena_, static_cast<size_t>(table_.arena_bytes));
}

void LifetimeGuard::Reset() {
  for (size_t i = 0; i < live_.size(); ++i) {
    if (live_[i]) End(static_cast<int32_t>(i));
  }
}

void LifetimeGuard::Before(int64_t tick) {
  for (int32_t slot : begins_[static_cast<size_t>(tick)]) {
    if (!live_[static_cast<size_t>(slot)]) Begin(slot);
  }
}

void LifetimeGuard::After(int64_t tick) {
  for (int32_t slot : ends_[static_cast<size_t>(tick)]) End(slot);
}

void LifetimeGuard::Begin(int32_t index) {
  const plan::Slot& slot = table_.slots[static_cast<size_t>(index)];
  std::byte* begin = arena_ + slot.offset;
  ASAN_UNPOISON_MEMORY_REGION(begin, static_cast<size_t>(slot.bytes));
  std::memset(begin, kNotANumber, static_cast<size_t>(slot.bytes));
  live_[static_cast<size_t>(index)] = true;
}

void LifetimeGuard::End(int32_t index) {
  const plan::Slot& slot = table_.slots[static_cast<size_t>(index)];
  std::byte* begin = arena_ + slot.offset;
  ASAN_UNPOISON_MEMORY_REGION(begin, static_cast<size_t>(slot.bytes));
  std::memset(begin, kNotANumber, static_cast<size_t>(slot.bytes));
  ASAN_POISON_MEMORY_REGION(begin, static_cast<size_t>(slot.bytes));
  live_[static_cast<size_t>(index)] = false;
}

}  // namespace traind::model
