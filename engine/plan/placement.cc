// Places slots at the moment of the peak, then walks away from it in both directions.
#include "engine/plan/placement.h"

#include <algorithm>
#include <map>

#include "engine/plan/saturating.h"

namespace traind::plan {
namespace {

int64_t Aligned(const Lifetime& slot) {
  return RoundUp(slot.bytes, kSlotAlignment);
}

// Free and used ranges of an arena that may grow.
class FreeRanges {
 public:
  // Takes [offset, offset + bytes), which is free.
  void TakeAt(int64_t offset, int64_t bytes) {
    auto gap = std::prev(gaps_.upper_bound(offset));
    const int64_t begin = gap->first, end = gap->second;
    gaps_.erase(gap);
    if (begin < offset) gaps_[begin] = offset;
    if (offset + bytes < end) gaps_[offset + bytes] = end;
    end_ = std::max(end_, offset + bytes);
  }

  // The smallest gap that holds `bytes`, the lowest among equals; the space above all that was ever used
  // counts only as far as the arena reaches by now, and is taken beyond it as the last resort.
  int64_t Take(int64_t bytes) {
    int64_t best = -1, best_size = kTooLarge;
    for (auto [begin, end] : gaps_) {
      const int64_t size = std::min(end, end_) - begin;
      if (size >= bytes && size < best_size) best = begin, best_size = size;
    }
    if (best < 0) best = gaps_.rbegin()->first;
    TakeAt(best, bytes);
    return best;
  }

  void Free(int64_t offset, int64_t bytes) {
    int64_t begin = offset, end = offset + bytes;
    auto next = gaps_.lower_bound(offset);
    if (next != gaps_.end() && next->first == end) {
      end = next->second;
      next = gaps_.erase(next);
    }
    if (next != gaps_.begin() && std::prev(next)->second == begin) {
      begin = std::prev(next)->first;
      gaps_.erase(std::prev(next));
    }
    gaps_[begin] = end;
  }

  int64_t end() const { return end_; }

 private:
  std::map<int64_t, int64_t> gaps_ = {{0, kTooLarge}};  // begin → end; the last one has no end
  int64_t end_ = 0;
};

// The most that is live at once, and when first.
void FindPeak(std::span<const Lifetime> slots, Placement* placement) {
  std::map<int64_t, int64_t> change;
  for (const Lifetime& slot : slots) {
    if (slot.bytes == 0) continue;
    change[slot.first] += Aligned(slot);
    change[slot.last + 1] -= Aligned(slot);
  }
  int64_t live = 0;
  for (auto [tick, bytes] : change) {
    live += bytes;
    if (live > placement->live_bytes) placement->live_bytes = live, placement->peak_tick = tick;
  }
}

// The slots live at the peak, longest-lived lowest and without gaps.
FreeRanges PlacePeak(std::span<const Lifetime> slots, Placement* placement) {
  std::vector<size_t> order;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].bytes > 0 && slots[i].first <= placement->peak_tick &&
        slots[i].last >= placement->peak_tick) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (slots[a].last != slots[b].last) return slots[a].last > slots[b].last;
    return slots[a].first < slots[b].first;
  });
  FreeRanges ranges;
  for (size_t i : order) {
    placement->offsets[i] = ranges.end();
    ranges.TakeAt(ranges.end(), Aligned(slots[i]));
  }
  return ranges;
}

struct Arrival {
  int64_t from, to;  // distance from the peak at which the slot appears and disappears
  size_t slot;
};

// Walks from the peak outwards. `arrivals` are all slots met on the way, those of the peak with from = 0.
int64_t Walk(std::span<const Lifetime> slots, std::vector<Arrival> arrivals, FreeRanges ranges,
             Placement* placement) {
  auto by_appearance = [&](const Arrival& a, const Arrival& b) {
    if (a.from != b.from) return a.from < b.from;
    if (slots[a.slot].bytes != slots[b.slot].bytes) return slots[a.slot].bytes > slots[b.slot].bytes;
    return a.slot < b.slot;
  };
  std::vector<Arrival> leaving = arrivals;
  std::sort(arrivals.begin(), arrivals.end(), by_appearance);
  std::sort(leaving.begin(), leaving.end(),
            [](const Arrival& a, const Arrival& b) { return a.to != b.to ? a.to < b.to : a.slot < b.slot; });
  size_t next_leaving = 0;
  for (const Arrival& arrival : arrivals) {
    if (arrival.from == 0) continue;
    for (; next_leaving < leaving.size() && leaving[next_leaving].to < arrival.from; ++next_leaving) {
      const size_t slot = leaving[next_leaving].slot;
      ranges.Free(placement->offsets[slot], Aligned(slots[slot]));
    }
    placement->offsets[arrival.slot] = ranges.Take(Aligned(slots[arrival.slot]));
  }
  return ranges.end();
}

// Empty placement, or one that says that the sizes cannot be added.
bool Overflows(std::span<const Lifetime> slots, Placement* placement) {
  int64_t sum = 0;
  for (const Lifetime& slot : slots) sum = SaturatingAdd(sum, Aligned(slot));
  placement->offsets.assign(slots.size(), 0);
  if (sum != kTooLarge) return false;
  placement->end_bytes = placement->live_bytes = kTooLarge;
  return true;
}

}  // namespace

Placement PlaceByLifetime(std::span<const Lifetime> slots) {
  Placement placement;
  if (Overflows(slots, &placement)) return placement;
  FindPeak(slots, &placement);
  const FreeRanges at_peak = PlacePeak(slots, &placement);
  const int64_t peak = placement.peak_tick;
  std::vector<Arrival> after, before;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Lifetime& slot = slots[i];
    if (slot.bytes == 0) continue;
    if (slot.last >= peak) after.push_back({std::max<int64_t>(0, slot.first - peak), slot.last - peak, i});
    if (slot.first <= peak) before.push_back({std::max<int64_t>(0, peak - slot.last), peak - slot.first, i});
  }
  placement.end_bytes = std::max(Walk(slots, std::move(after), at_peak, &placement),
                                 Walk(slots, std::move(before), at_peak, &placement));
  return placement;
}

Placement PlaceApart(std::span<const Lifetime> slots) {
  Placement placement;
  if (Overflows(slots, &placement)) return placement;
  FindPeak(slots, &placement);
  for (size_t i = 0; i < slots.size(); ++i) {
    placement.offsets[i] = placement.end_bytes;
    placement.end_bytes += Aligned(slots[i]);
  }
  return placement;
}

}  // namespace traind::plan
