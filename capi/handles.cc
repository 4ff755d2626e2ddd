// The table of handles: chunks of slots that are made when needed and never given back.
//
// Value of a handle: generation (40 bits), slot number (20 bits), kind (4 bits).
#include "capi/handles.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <vector>

namespace traind::capi {
namespace {

static_assert(sizeof(void*) == 8, "a handle's value has 64 bits");

constexpr uint64_t kSlotsPerChunk = 1024;
constexpr uint64_t kChunks = 1024;
constexpr uint64_t kKindMask = 0xF;
constexpr int kSlotShift = 4;
constexpr int kGenerationShift = 24;
constexpr uint64_t kSlotMask = (uint64_t{1} << (kGenerationShift - kSlotShift)) - 1;

struct Table {
  std::mutex mutex;
  std::array<std::atomic<Slot*>, kChunks> chunks{};
  std::vector<uint64_t> free;
  uint64_t used = 0;
};

// Never destroyed: handles may be freed by the host's own late destructors.
Table& TheTable() {
  static Table* table = new Table;
  return *table;
}

Slot* SlotAt(Table& table, uint64_t number) {
  Slot* chunk = table.chunks[number / kSlotsPerChunk].load();
  return chunk == nullptr ? nullptr : &chunk[number % kSlotsPerChunk];
}

// The number of a free slot, kSlotMask + 1 if there is none. Under the mutex.
uint64_t TakeSlot(Table& table) {
  if (!table.free.empty()) {
    uint64_t number = table.free.back();
    table.free.pop_back();
    return number;
  }
  if (table.used > kSlotMask) return kSlotMask + 1;
  std::atomic<Slot*>& chunk = table.chunks[table.used / kSlotsPerChunk];
  if (chunk.load() == nullptr) chunk.store(new Slot[kSlotsPerChunk]);
  table.free.reserve(table.used + 1);  // so that Release never allocates
  return table.used++;
}

uint64_t ValueOf(const void* handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

}  // namespace

Kind KindOf(const void* handle) {
  return static_cast<Kind>(ValueOf(handle) & kKindMask);
}

void* Register(Kind kind, std::unique_ptr<Object> object) {
  Table& table = TheTable();
  std::lock_guard lock(table.mutex);
  uint64_t number = TakeSlot(table);
  if (number > kSlotMask) return nullptr;
  Slot* slot = SlotAt(table, number);
  uint64_t key =
      (++slot->generation << kGenerationShift) | (number << kSlotShift) | static_cast<uint64_t>(kind);
  slot->object.store(object.release());
  slot->key.store(key);
  return reinterpret_cast<void*>(key);  // NOLINT(performance-no-int-to-ptr): a name, never followed
}

Pin Find(Kind kind, const void* handle) {
  if (handle == nullptr || KindOf(handle) != kind) return {};
  Slot* slot = SlotAt(TheTable(), (ValueOf(handle) >> kSlotShift) & kSlotMask);
  if (slot == nullptr) return {};
  slot->pins.fetch_add(1);
  if (slot->key.load() == ValueOf(handle)) return {slot, slot->object.load()};
  slot->pins.fetch_sub(1);
  return {};
}

std::unique_ptr<Object> Release(Kind kind, const void* handle) {
  Pin pin = Find(kind, handle);
  if (!pin) return nullptr;
  Slot* slot = pin.slot();
  uint64_t key = ValueOf(handle);
  bool mine = slot->key.compare_exchange_strong(key, 0);
  pin.Drop();
  if (!mine) return nullptr;  // another thread frees it just now
  slot->wake.store(-1);
  while (slot->pins.load() != 0) sched_yield();
  std::unique_ptr<Object> object(slot->object.exchange(nullptr));
  Table& table = TheTable();
  std::lock_guard lock(table.mutex);
  table.free.push_back((ValueOf(handle) >> kSlotShift) & kSlotMask);
  return object;
}

void SetWake(const void* handle, int descriptor) {
  Pin pin = Find(Kind::kConnection, handle);
  if (pin) pin.slot()->wake.store(descriptor);
}

bool Interrupt(const void* handle) {
  Pin pin = Find(Kind::kConnection, handle);
  if (!pin) return false;
  int saved_errno = errno;
  const uint64_t one = 1;
  int descriptor = pin.slot()->wake.load();
  if (descriptor >= 0) (void)!write(descriptor, &one, sizeof one);
  errno = saved_errno;
  return true;
}

}  // namespace traind::capi
