// Collects slots and calls, then turns them into a memory table: ticks, lifetimes, addresses.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/plan/memory.h"

namespace traind::plan {

// How long a slot lives.
enum class Span {
  kTouched,     // from the first call that touches it to the last
  kAlways,      // the whole axis: it carries something from step to step, or is filled from outside
  kMicroBatch,  // as kTouched, but from the axis' start if there are several micro-batches: it carries
                // something from one to the next
};

class TableBuilder {
 public:
  explicit TableBuilder(MemoryTable table) : table_(std::move(table)) {}

  // The index of a new slot.
  int32_t AddSlot(std::string name, SlotClass slot_class, int64_t bytes, Span span = Span::kTouched,
                  DType type = DType::kFloat32);
  DType slot_type(int32_t slot) const { return table_.slots[static_cast<size_t>(slot)].type; }
  int64_t slot_bytes(int32_t slot) const { return table_.slots[static_cast<size_t>(slot)].bytes; }

  // The following calls belong to an instruction of that kind; programs are added in the axis' order.
  void Begin(InstructionKind kind);
  void Add(OpCall call);

  // Makes `slot` live during the whole of the last program begun, though no call touches it.
  void LiveDuringProgram(int32_t slot);

  MemoryTable Finish(bool reuse);

 private:
  void FixLifetimes();
  void Place(bool reuse);

  MemoryTable table_;
  std::vector<Span> spans_;
  std::vector<std::pair<int32_t, size_t>> held_;  // slot, program
};

// One call, written as it reads: OpBuilder(kind, pass, layer).Read(Role::kInput, slot)….
class OpBuilder {
 public:
  OpBuilder(const TableBuilder& table, OpKind kind, Pass pass, int64_t layer, const OpDimensions& dimensions,
            DType type = DType::kFloat32)
      : table_(table) {
    call_.kind = kind;
    call_.type = type;
    call_.pass = pass;
    call_.layer = layer;
    call_.dimensions = dimensions;
  }

  OpBuilder& Read(Role role, int32_t slot) { return With(role, Access::kRead, slot); }
  OpBuilder& Write(Role role, int32_t slot) { return With(role, Access::kWrite, slot); }
  OpBuilder& Update(Role role, int32_t slot) { return With(role, Access::kUpdate, slot); }
  OpBuilder& Scratch(int32_t slot) { return With(Role::kWorkspace, Access::kScratch, slot); }
  // A range of elements of a slot; one that begins at -1 is left out.
  OpBuilder& Range(Role role, Access access, int32_t slot, int64_t first_element, int64_t elements);
  OpBuilder& Decays(bool decays) {
    call_.decays = decays;
    return *this;
  }
  OpBuilder& LastRow() {
    call_.last_row = true;
    return *this;
  }
  OpCall Take() { return std::move(call_); }

 private:
  // The whole slot; slot -1 is left out.
  OpBuilder& With(Role role, Access access, int32_t slot);

  const TableBuilder& table_;
  OpCall call_;
};

}  // namespace traind::plan
