// Verifies a memory table against the instruction list that is to run on it.
//
// Both checks know nothing of how tables are built: they look at addresses, lifetimes and accesses alone. On
// one rank with one queue, "happens before" is the order of the list.
#pragma once

#include <vector>

#include "engine/base/status.h"
#include "engine/plan/memory.h"
#include "engine/plan/schedule.h"

namespace traind::plan {

// Addresses: each slot lies aligned within the arena, and two slots that are live at the same tick do not
// overlap. INTERNAL names slots and tick.
Status VerifyPlacement(const MemoryTable& table);

// Accesses: runs the list on a map of the arena that only remembers which slot wrote each byte last. A call
// may touch a slot only during its lifetime, and what it reads must have been written by the same slot,
// completely, and not overwritten or freed since. INTERNAL names instruction, call and slot.
Status VerifyAccesses(const MemoryTable& table, const std::vector<Instruction>& list);

}  // namespace traind::plan
