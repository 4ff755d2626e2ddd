// Handles: what the C interface gives out are names of objects, not their addresses.
//
// A handle is a slot's number and the slot's generation, dressed as a pointer. A freed handle's generation is
// past, so it is told from a live one for certain, whatever the allocator does. Looking a handle up pins its
// object: Release waits until no pin is left, so that no object goes away under another thread. Lookups take
// no lock and are async-signal-safe. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace traind::capi {

enum class Kind : uint8_t {
  kConfig = 1,
  kConnection = 2,
  kScript = 3,
  kStatement = 4,
  kResult = 5,
  kEvent = 6,
  kError = 7,
  kWords = 8,
};

// What a handle names.
class Object {
 public:
  virtual ~Object() = default;
};

struct Slot {
  std::atomic<uint64_t> key{0};  // the live handle's value, 0 while the slot is free
  std::atomic<Object*> object{nullptr};
  std::atomic<int> pins{0};
  std::atomic<int> wake{-1};  // of a connection: the eventfd that traind_interrupt writes to
  uint64_t generation = 0;    // touched only by who holds the table's mutex
};

// A live object, held in place while this lives; empty if the handle names none of that kind.
class Pin {
 public:
  Pin() = default;
  Pin(Slot* slot, Object* object) : slot_(slot), object_(object) {}
  Pin(Pin&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)), object_(other.object_) {}
  Pin& operator=(Pin&&) = delete;
  ~Pin() { Drop(); }

  void Drop() {
    if (slot_ != nullptr) slot_->pins.fetch_sub(1);
    slot_ = nullptr;
  }

  explicit operator bool() const { return slot_ != nullptr; }
  Object* object() const { return object_; }
  Slot* slot() const { return slot_; }

 private:
  Slot* slot_ = nullptr;
  Object* object_ = nullptr;
};

// Takes the object and gives its handle; nullptr (and the object is gone) if 2^20 handles are live.
void* Register(Kind kind, std::unique_ptr<Object> object);

// The object that `handle` names, if it is of that kind.
Pin Find(Kind kind, const void* handle);

// The kind that the handle's value claims, whether it is live or not.
Kind KindOf(const void* handle);

// Ends the handle's validity, waits for other pins to be dropped and gives the object back; nullptr if the
// handle names none of that kind. The caller holds no pin on it.
std::unique_ptr<Object> Release(Kind kind, const void* handle);

// The eventfd of a live connection handle's slot, which Interrupt writes to; -1 takes it back. Release takes
// it back too, before it waits: the descriptor may be closed afterwards.
void SetWake(const void* handle, int descriptor);

// Writes to the wake descriptor of a connection handle; false if the handle is not live. Async-signal-safe.
bool Interrupt(const void* handle);

}  // namespace traind::capi
