// Placement: an address in one arena for every slot, from sizes and lifetimes alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensor/tensor.h"

namespace traind::plan {

// A slot as placement sees it: live from tick `first` to tick `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

struct Placement {
  std::vector<int64_t>
      offsets;             // bytes, multiples of kSlotAlignment, as the input is ordered; 0 for empty slots
  int64_t end_bytes = 0;   // the arena's size
  int64_t live_bytes = 0;  // the most that is live at once, sizes rounded to the alignment: no placement
                           // can end below it
  int64_t peak_tick = 0;   // the first tick at which so much is live
};

// Slots may share addresses where their lifetimes are disjoint.
//
// Training's memory swells to one peak, the loss, and shrinks from there. So the slots live at the peak are
// laid without gaps, those that live longest lowest, and time is walked from there in both directions, each
// further slot going to the smallest gap that holds it. Almost always the arena then ends at live_bytes. With
// sizes whose sum is kTooLarge, offsets are void and end_bytes is kTooLarge.
Placement PlaceByLifetime(std::span<const Lifetime> slots);

// Every slot has its own address: the reference for tests of reuse.
Placement PlaceApart(std::span<const Lifetime> slots);

}  // namespace traind::plan
