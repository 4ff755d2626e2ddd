// The sampler: each epoch is a permutation, and depends on seed, epoch and place alone.
#include "engine/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "tests/support/test.h"

namespace traind::data {
namespace {

std::vector<int64_t> Epoch(const Sampler& sampler, int64_t epoch) {
  std::vector<int64_t> order;
  for (int64_t k = 0; k < sampler.sequences(); ++k) {
    order.push_back(sampler.SequenceAt(epoch * sampler.sequences() + k));
  }
  return order;
}

void AssertPermutation(std::vector<int64_t> order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) assert_int_equal(order[i], static_cast<int64_t>(i));
}

void EveryEpochIsAPermutation(void**) {
  for (int64_t size = 1; size <= 700; ++size) {
    const Sampler sampler(size, size * 31);
    for (const int64_t epoch : {int64_t{0}, int64_t{1}, int64_t{1000000}})
      AssertPermutation(Epoch(sampler, epoch));
  }
  for (const int64_t size : {1 << 16, (1 << 16) + 1, (1 << 18) - 1, 1000003}) {
    AssertPermutation(Epoch(Sampler(size, -1), 3));
  }
}

void HugeSizesStayInside(void**) {
  for (const int64_t size : {(int64_t{1} << 40) + 1, (int64_t{1} << 62) - 1, int64_t{1} << 62}) {
    const Permutation permutation(size, 5);
    std::set<int64_t> seen;
    for (int64_t i = 0; i < 2000; ++i) {
      const int64_t value = permutation.At(size - 1 - i);
      assert_true(value >= 0 && value < size);
      assert_true(seen.insert(value).second);
    }
  }
}

void SeedsAndEpochsDiffer(void**) {
  const Sampler sampler(1000, 1);
  const auto first = Epoch(sampler, 0);
  assert_true(first == Epoch(Sampler(1000, 1), 0));
  for (const auto& other : {Epoch(sampler, 1), Epoch(Sampler(1000, 2), 0), Epoch(Sampler(1000, -1), 0)}) {
    int equal = 0;
    for (size_t i = 0; i < first.size(); ++i) equal += first[i] == other[i];
    assert_true(equal < 10);  // 1 is expected of random permutations
  }
}

// Checkpoints hold positions, not orders: these values may never change.
void OrderIsPinned(void**) {
  const Sampler sampler(10, 42);
  const std::vector<int64_t> expected = {0, 6, 9, 7, 5, 8, 2, 1, 4, 3, 7, 8, 0, 9, 4, 3, 5, 1, 6, 2};
  std::vector<int64_t> order = Epoch(sampler, 0);
  const std::vector<int64_t> second = Epoch(sampler, 1);
  order.insert(order.end(), second.begin(), second.end());
  assert_true(order == expected);
}

// A place is as likely to hold any sequence: chi-squared over seeds, 99.9 % quantile for 15 degrees is 37.7.
void PlacesAreUniform(void**) {
  constexpr int kSize = 16, kSeeds = 16000;
  for (int64_t place = 0; place < kSize; ++place) {
    std::vector<int> count(kSize, 0);
    for (int64_t seed = 0; seed < kSeeds; ++seed)
      ++count[static_cast<size_t>(Sampler(kSize, seed).SequenceAt(place))];
    double chi = 0;
    for (const int c : count) chi += std::pow(c - kSeeds / kSize, 2) / (kSeeds / kSize);
    assert_true(chi < 45);
  }
}

void EpochsBecomeSteps(void**) {
  assert_int_equal(StepsForEpochs(1, 100, 10), 10);
  assert_int_equal(StepsForEpochs(1, 101, 10), 11);
  assert_int_equal(StepsForEpochs(0.5, 100, 10), 5);
  assert_int_equal(StepsForEpochs(0.1, 30, 1), 3);
  assert_int_equal(StepsForEpochs(1.1, 10, 1), 11);
  assert_int_equal(StepsForEpochs(2.5, 3, 4), 2);
  assert_int_equal(StepsForEpochs(0.001, 3, 4), 1);
  assert_int_equal(StepsForEpochs(3, 7, 2), 11);
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const CMUnitTest tests[] = {
      cmocka_unit_test(EveryEpochIsAPermutation), cmocka_unit_test(HugeSizesStayInside),
      cmocka_unit_test(SeedsAndEpochsDiffer),     cmocka_unit_test(OrderIsPinned),
      cmocka_unit_test(PlacesAreUniform),         cmocka_unit_test(EpochsBecomeSteps),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
