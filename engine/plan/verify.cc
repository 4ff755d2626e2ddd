// Follows every byte of an arena through an instruction list.
#include "engine/plan/verify.h"

#include <algorithm>
#include <map>

#include "engine/tensor/tensor.h"

namespace traind::plan {
namespace {

// Which slot wrote each byte of the arena last.
class Ownership {
 public:
  void Write(int32_t slot, int64_t begin, int64_t end) {
    Erase(begin, end);
    if (begin < end) ranges_[begin] = {end, slot};
  }

  void Erase(int64_t begin, int64_t end) {
    if (begin >= end) return;
    SplitAt(begin);
    SplitAt(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
  }

  bool Owns(int32_t slot, int64_t begin, int64_t end) const {
    if (begin >= end) return true;
    auto range = ranges_.upper_bound(begin);
    if (range == ranges_.begin()) return false;
    for (--range; range != ranges_.end() && range->first <= begin; ++range) {
      if (range->second.slot != slot || range->second.end <= begin) return false;
      begin = range->second.end;
      if (begin >= end) return true;
    }
    return false;
  }

 private:
  struct Range {
    int64_t end;
    int32_t slot;
  };

  void SplitAt(int64_t address) {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return;
    --range;
    if (range->first == address || range->second.end <= address) return;
    ranges_[address] = range->second;
    range->second.end = address;
  }

  std::map<int64_t, Range> ranges_;
};

class AccessVerifier {
 public:
  explicit AccessVerifier(const MemoryTable& table) : table_(table) {
    freed_at_.resize(static_cast<size_t>(table.ticks));
    for (size_t i = 0; i < table.slots.size(); ++i) {
      const Slot& slot = table.slots[i];
      const bool always = slot.first_tick == 0 && slot.last_tick == table.ticks - 1;
      // What lives always is filled from outside before the list begins.
      if (always) Write(static_cast<int32_t>(i), 0, slot.bytes);
      if (!always && slot.last_tick >= 0 && slot.last_tick < table.ticks) {
        freed_at_[static_cast<size_t>(slot.last_tick)].push_back(static_cast<int32_t>(i));
      }
    }
  }

  Status Run(const Instruction& instruction) {
    const Program* program = table_.FindProgram(instruction.kind);
    if (program == nullptr) {
      return Status(ErrorCode::INTERNAL, "the table has no program for " + InstructionText(instruction));
    }
    for (size_t i = 0; i < program->calls.size(); ++i) {
      const int64_t tick = program->first_tick + static_cast<int64_t>(i);
      for (const Operand& operand : program->calls[i].operands) {
        std::string broken = Touch(operand, instruction, tick);
        if (broken.empty()) continue;
        return Status(ErrorCode::INTERNAL, InstructionText(instruction) + ", call " + std::to_string(i) +
                                               " (" + std::string(OpKindName(program->calls[i].kind)) + " " +
                                               std::string(PassName(program->calls[i].pass)) +
                                               "): " + broken);
      }
      for (const Operand& operand : program->calls[i].operands) Finish(operand);
      for (int32_t slot : freed_at_[static_cast<size_t>(tick)]) {
        owners_.Erase(Address(slot, 0), Address(slot, SlotOf(slot).bytes));
      }
    }
    return Ok();
  }

 private:
  const Slot& SlotOf(int32_t slot) const { return table_.slots[static_cast<size_t>(slot)]; }
  int64_t Address(int32_t slot, int64_t offset) const { return SlotOf(slot).offset + offset; }
  void Write(int32_t slot, int64_t begin, int64_t end) {
    owners_.Write(slot, Address(slot, begin), Address(slot, end));
  }

  static bool Reads(const Operand& operand, const Instruction& instruction) {
    return operand.access == Access::kRead || operand.access == Access::kUpdate ||
           (operand.access == Access::kAccumulate && instruction.micro_batch > 0);
  }

  // Empty, or what is wrong with the access.
  std::string Touch(const Operand& operand, const Instruction& instruction, int64_t tick) {
    if (operand.slot < 0 || operand.slot >= static_cast<int32_t>(table_.slots.size()))
      return "there is no such slot";
    const Slot& slot = SlotOf(operand.slot);
    if (operand.offset < 0 || operand.bytes < 0 || operand.offset > slot.bytes - operand.bytes) {
      return "the access leaves slot " + slot.name;
    }
    if (tick < slot.first_tick || tick > slot.last_tick) return "slot " + slot.name + " is not live";
    const int64_t begin = Address(operand.slot, operand.offset);
    if (Reads(operand, instruction) && !owners_.Owns(operand.slot, begin, begin + operand.bytes)) {
      return "slot " + slot.name +
             " is read, but not all of it has been written, or it was overwritten or freed";
    }
    return "";
  }

  // What the operand leaves behind.
  void Finish(const Operand& operand) {
    const int64_t begin = Address(operand.slot, operand.offset);
    if (operand.access == Access::kScratch) owners_.Erase(begin, begin + operand.bytes);
    if (operand.access == Access::kWrite || operand.access == Access::kUpdate ||
        operand.access == Access::kAccumulate) {
      owners_.Write(operand.slot, begin, begin + operand.bytes);
    }
  }

  const MemoryTable& table_;
  Ownership owners_;
  std::vector<std::vector<int32_t>> freed_at_;  // by tick: slots whose life ends with it
};

Status Overlap(const Slot& a, const Slot& b, int64_t tick) {
  return Status(ErrorCode::INTERNAL, "slots " + a.name + " and " + b.name +
                                         " overlap while both are live at tick " + std::to_string(tick));
}

}  // namespace

Status VerifyPlacement(const MemoryTable& table) {
  std::vector<const Slot*> by_start, by_end;
  for (const Slot& slot : table.slots) {
    if (slot.offset % kSlotAlignment != 0 || slot.offset < 0 ||
        slot.offset > table.arena_bytes - slot.bytes) {
      return Status(ErrorCode::INTERNAL, "slot " + slot.name + " is not aligned within the arena");
    }
    if (slot.first_tick < 0 || slot.last_tick < slot.first_tick || slot.last_tick >= table.ticks) {
      return Status(ErrorCode::INTERNAL, "slot " + slot.name + " has no lifetime on the axis");
    }
    if (slot.bytes == 0) continue;
    by_start.push_back(&slot);
    by_end.push_back(&slot);
  }
  std::ranges::stable_sort(by_start, {}, &Slot::first_tick);
  std::ranges::stable_sort(by_end, {}, &Slot::last_tick);
  std::map<int64_t, const Slot*> live;  // by address
  size_t ended = 0;
  for (const Slot* slot : by_start) {
    for (; ended < by_end.size() && by_end[ended]->last_tick < slot->first_tick; ++ended) {
      live.erase(by_end[ended]->offset);
    }
    auto next = live.lower_bound(slot->offset);
    if (next != live.end() && next->first < slot->offset + slot->bytes) {
      return Overlap(*slot, *next->second, slot->first_tick);
    }
    if (next != live.begin()) {
      const Slot* previous = std::prev(next)->second;
      if (previous->offset + previous->bytes > slot->offset)
        return Overlap(*slot, *previous, slot->first_tick);
    }
    live[slot->offset] = slot;
  }
  return Ok();
}

Status VerifyAccesses(const MemoryTable& table, const std::vector<Instruction>& list) {
  AccessVerifier verifier(table);
  for (const Instruction& instruction : list) TRAIND_TRY(verifier.Run(instruction));
  return Ok();
}

}  // namespace traind::plan
