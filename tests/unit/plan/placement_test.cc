// Placement on its own: random lifetimes, known shapes, sizes that overflow.
#include "engine/plan/placement.h"

#include <algorithm>
#include <random>

#include "engine/plan/saturating.h"
#include "tests/support/test.h"

namespace traind::plan {
namespace {

int64_t Rounded(const Lifetime& slot) {
  return RoundUp(slot.bytes, kSlotAlignment);
}

// Fails if two slots that are live at once overlap, or if the figures are not those of the slots.
void CheckPlacement(const std::vector<Lifetime>& slots, const Placement& placement) {
  int64_t end = 0, live = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    assert_int_equal(placement.offsets[i] % kSlotAlignment, 0);
    if (slots[i].bytes == 0) continue;
    end = std::max(end, placement.offsets[i] + Rounded(slots[i]));
    for (size_t j = 0; j < i; ++j) {
      const bool together = slots[i].first <= slots[j].last && slots[j].first <= slots[i].last;
      const bool overlap = placement.offsets[i] < placement.offsets[j] + Rounded(slots[j]) &&
                           placement.offsets[j] < placement.offsets[i] + Rounded(slots[i]);
      assert_false(together && overlap && slots[j].bytes > 0);
    }
  }
  for (const Lifetime& at : slots) {  // the most is live where some slot begins
    int64_t sum = 0;
    for (const Lifetime& slot : slots) {
      if (slot.first <= at.first && slot.last >= at.first) sum += Rounded(slot);
    }
    live = std::max(live, sum);
  }
  assert_int_equal(placement.end_bytes, end);
  assert_int_equal(placement.live_bytes, live);
  assert_true(placement.end_bytes >= placement.live_bytes);
}

void RandomLifetimesNeverCollide(void**) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Lifetime> slots;
    const int ticks = 1 + static_cast<int>(random() % 40);
    for (size_t count = random() % 60; slots.size() < count;) {
      const int64_t a = random() % ticks, b = random() % ticks;
      slots.push_back(
          {static_cast<int64_t>(random() % 5 == 0 ? 0 : random() % 5000), std::min(a, b), std::max(a, b)});
    }
    CheckPlacement(slots, PlaceByLifetime(slots));
    CheckPlacement(slots, PlaceApart(slots));
  }
}

// Layers that save on the way up and free on the way down leave no gap.
void NestedLifetimesFitWithoutGaps(void**) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> slots;
    const int64_t layers = 1 + random() % 12;
    for (int64_t layer = 0; layer < layers; ++layer) {
      for (int64_t part = 0; part < 3; ++part) {
        slots.push_back({static_cast<int64_t>(64 * (1 + random() % 9)), layer, 2 * layers - layer});
      }
    }
    const Placement placement = PlaceByLifetime(slots);
    CheckPlacement(slots, placement);
    assert_int_equal(placement.end_bytes, placement.live_bytes);
  }
}

void NothingNeedsNothing(void**) {
  assert_int_equal(PlaceByLifetime({}).end_bytes, 0);
  const Lifetime empty[] = {{0, 0, 5}};
  assert_int_equal(PlaceByLifetime(empty).end_bytes, 0);
}

void SizesThatOverflowAreSaid(void**) {
  const Lifetime slots[] = {{int64_t{1} << 62, 0, 1}, {int64_t{1} << 62, 0, 1}, {5, 0, 3}};
  assert_true(PlaceByLifetime(slots).end_bytes == kTooLarge);
  assert_true(PlaceApart(slots).end_bytes == kTooLarge);
  const Lifetime one[] = {{kTooLarge, 0, 1}};
  assert_true(PlaceByLifetime(one).end_bytes == kTooLarge);
  const Lifetime large[] = {{int64_t{1} << 62, 0, 1}, {int64_t{1} << 61, 2, 3}};
  assert_true(PlaceByLifetime(large).end_bytes == int64_t{1} << 62);
}

void SaturatingArithmetic(void**) {
  assert_true(SaturatingAdd(kTooLarge - 1, 1) == kTooLarge);
  assert_true(SaturatingAdd(kTooLarge, kTooLarge) == kTooLarge);
  assert_true(SaturatingMultiply(int64_t{1} << 31, int64_t{1} << 31) == int64_t{1} << 62);
  assert_true(SaturatingMultiply(int64_t{1} << 32, int64_t{1} << 31) == kTooLarge);
  assert_true(Product({kTooLarge, 0, kTooLarge}) == 0);
  assert_true(Product({kTooLarge, kTooLarge, 0}) == 0);
  assert_true(RoundUp(kTooLarge - 3, 64) == kTooLarge);
  assert_true(RoundUp(65, 64) == 128 && RoundUp(64, 64) == 64 && RoundUp(0, 64) == 0);
}

}  // namespace
}  // namespace traind::plan

int main() {
  using namespace traind::plan;
  const CMUnitTest tests[] = {
      cmocka_unit_test(RandomLifetimesNeverCollide), cmocka_unit_test(NestedLifetimesFitWithoutGaps),
      cmocka_unit_test(NothingNeedsNothing),         cmocka_unit_test(SizesThatOverflowAreSaid),
      cmocka_unit_test(SaturatingArithmetic),
  };
  return cmocka_run_group_tests_name("placement", tests, nullptr, nullptr);
}
