// Turns slots and calls into a memory table.
#include "engine/plan/table_builder.h"

#include <algorithm>

#include "engine/plan/placement.h"
#include "engine/plan/saturating.h"

namespace traind::plan {

int32_t TableBuilder::AddSlot(std::string name, SlotClass slot_class, int64_t bytes, Span span, DType type) {
  Slot slot;
  slot.name = std::move(name);
  slot.slot_class = slot_class;
  slot.type = type;
  slot.bytes = bytes;
  slot.first_tick = kTooLarge;
  slot.last_tick = -1;
  table_.slots.push_back(std::move(slot));
  spans_.push_back(span);
  return static_cast<int32_t>(table_.slots.size()) - 1;
}

void TableBuilder::Begin(InstructionKind kind) {
  Program program;
  program.kind = kind;
  table_.programs.push_back(std::move(program));
}

void TableBuilder::Add(OpCall call) {
  table_.programs.back().calls.push_back(std::move(call));
}

void TableBuilder::LiveDuringProgram(int32_t slot) {
  held_.emplace_back(slot, table_.programs.size() - 1);
}

void TableBuilder::FixLifetimes() {
  auto touch = [&](int32_t index, int64_t tick) {
    Slot& slot = table_.slots[static_cast<size_t>(index)];
    slot.first_tick = std::min(slot.first_tick, tick);
    slot.last_tick = std::max(slot.last_tick, tick);
  };
  int64_t tick = 0;
  for (Program& program : table_.programs) {
    program.first_tick = tick;
    for (size_t call = 0; call < program.calls.size(); ++call) {
      for (const Operand& operand : program.calls[call].operands) {
        touch(operand.slot, tick + static_cast<int64_t>(call));
      }
    }
    tick += program.ticks();
  }
  table_.ticks = tick;
  for (auto [slot, program] : held_) {
    touch(slot, table_.programs[program].first_tick);
    touch(slot, table_.programs[program].first_tick + table_.programs[program].ticks() - 1);
  }
  for (size_t i = 0; i < spans_.size(); ++i) {
    Slot& slot = table_.slots[i];
    if (spans_[i] == Span::kAlways) slot.first_tick = 0, slot.last_tick = tick - 1;
    if (spans_[i] == Span::kMicroBatch && table_.micro_batches > 1) slot.first_tick = 0;
  }
}

void TableBuilder::Place(bool reuse) {
  std::vector<Lifetime> lifetimes;
  lifetimes.reserve(table_.slots.size());
  for (const Slot& slot : table_.slots) lifetimes.push_back({slot.bytes, slot.first_tick, slot.last_tick});
  const Placement placement = reuse ? PlaceByLifetime(lifetimes) : PlaceApart(lifetimes);
  for (size_t i = 0; i < table_.slots.size(); ++i) table_.slots[i].offset = placement.offsets[i];
  table_.arena_bytes = placement.end_bytes;
  table_.live_bytes = placement.live_bytes;
  table_.peak_tick = placement.peak_tick;
}

MemoryTable TableBuilder::Finish(bool reuse) {
  FixLifetimes();
  Place(reuse);
  return std::move(table_);
}

OpBuilder& OpBuilder::With(Role role, Access access, int32_t slot) {
  if (slot < 0) return *this;
  call_.operands.push_back({role, access, slot, 0, table_.slot_bytes(slot)});
  return *this;
}

OpBuilder& OpBuilder::Range(Role role, Access access, int32_t slot, int64_t first_element, int64_t elements) {
  if (first_element < 0) return *this;
  const int64_t size = DTypeBytes(table_.slot_type(slot));
  call_.operands.push_back(
      {role, access, slot, SaturatingMultiply(first_element, size), SaturatingMultiply(elements, size)});
  return *this;
}

}  // namespace traind::plan
