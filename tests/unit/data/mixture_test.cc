// The mixture: shares that hold at every position, the same order however it is reached, every sequence of a
// source once an epoch.
#include "engine/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/test.h"

namespace traind::data {
namespace {

std::vector<double> RandomWeights(std::mt19937_64& random, size_t count) {
  std::vector<double> weights;
  for (size_t i = 0; i < count; ++i) {
    weights.push_back(std::exp(std::uniform_real_distribution<>(-6, 6)(random)));
  }
  return weights;
}

// After every position each source's count is less than one from its share.
void AssertShares(const std::vector<double>& weights, int64_t seed, int64_t positions) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  SourceOrder order(SharesOf(weights), seed);
  for (int64_t n = 1; n <= positions; ++n) {
    order.Next();
    for (size_t i = 0; i < weights.size(); ++i) {
      const double share = static_cast<double>(n) * weights[i] / sum;
      const double apart = std::abs(static_cast<double>(order.count(i)) - share);
      const double bound = weights.size() > 1 ? 1 - 1 / (2.0 * static_cast<double>(weights.size()) - 2) : 0;
      if (apart > bound + 1e-6) fail_msg("source %zu: %f from its share after %ld", i, apart, long{n});
    }
  }
}

void SharesHoldAtEveryPosition(void**) {
  AssertShares({1}, 1, 100);
  AssertShares({0.7, 0.3}, 42, 20000);
  AssertShares({1, 1}, 42, 1000);
  AssertShares({1, 1, 1, 1, 1, 1, 1}, 7, 5000);
  AssertShares({1e15, 1e-3}, 7, 5000);
  AssertShares({0.999999, 1e-6, 0.5}, 3, 20000);
  std::mt19937_64 random(20261201);
  for (int round = 0; round < 300; ++round) {
    AssertShares(RandomWeights(random, 2 + random() % 12), static_cast<int64_t>(random()), 1500);
  }
}

void SharesAddUp(void**) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::vector<int64_t> shares = SharesOf(RandomWeights(random, 1 + random() % 300));
    assert_int_equal(std::accumulate(shares.begin(), shares.end(), int64_t{0}), int64_t{1} << 40);
    assert_true(*std::min_element(shares.begin(), shares.end()) >= 1);
  }
}

std::vector<int64_t> Take(MixtureSampler sampler, int64_t begin, int64_t count) {
  std::vector<int64_t> order;
  for (int64_t i = begin; i < begin + count; ++i) order.push_back(sampler.SequenceAt(i));
  return order;
}

// A run that goes on at any position sees what an uninterrupted one sees, whatever it looked at before.
void EveryPositionIsReachedTheSameWay(void**) {
  const std::vector<int64_t> sizes = {17, 5, 40};
  for (const std::vector<double>& weights : {std::vector<double>{}, std::vector<double>{0.2, 0.7, 0.1}}) {
    const std::vector<int64_t> whole = Take(MixtureSampler(sizes, weights, 11), 0, 500);
    for (int64_t begin = 0; begin < 490; ++begin) {
      const std::vector<int64_t> rest = Take(MixtureSampler(sizes, weights, 11), begin, 10);
      assert_true(std::equal(rest.begin(), rest.end(), whole.begin() + begin));
    }
    MixtureSampler sampler(sizes, weights, 11);
    std::mt19937_64 random(3);
    for (int i = 0; i < 300; ++i) {
      const auto position = static_cast<int64_t>(random() % whole.size());
      assert_int_equal(sampler.SequenceAt(position), whole[static_cast<size_t>(position)]);
    }
  }
}

// Without weights an epoch is every sequence of every source once.
void AnEpochBySizeIsEverySequenceOnce(void**) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> sizes;
    for (size_t n = 1 + random() % 6; n > 0; --n) sizes.push_back(1 + static_cast<int64_t>(random() % 60));
    const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    MixtureSampler sampler(sizes, {}, static_cast<int64_t>(random()));
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int64_t> seen;
      for (int64_t i = 0; i < total; ++i) seen.push_back(sampler.SequenceAt(epoch * total + i));
      std::sort(seen.begin(), seen.end());
      for (int64_t i = 0; i < total; ++i) assert_int_equal(seen[static_cast<size_t>(i)], i);
    }
  }
}

// With weights each source goes through epochs of its own.
void ASourceRepeatsOnlyWhenItIsThrough(void**) {
  const std::vector<int64_t> sizes = {8, 50};
  MixtureSampler sampler(sizes, {0.9, 0.1}, 4);
  std::vector<int> count(8, 0);
  for (int64_t i = 0; i < 400; ++i) {
    const int64_t sequence = sampler.SequenceAt(i);
    if (sequence >= 8) continue;
    ++count[static_cast<size_t>(sequence)];
    const auto [low, high] = std::minmax_element(count.begin(), count.end());
    assert_true(*high - *low <= 1);
  }
}

// One source is what it always was: checkpoints made before there were mixtures go on.
void OneSourceIsItsSampler(void**) {
  const Sampler alone(37, 42);
  MixtureSampler sampler({37}, {}, 42);
  MixtureSampler weighted({37}, {0.3}, 42);
  for (int64_t i = 0; i < 200; ++i) {
    assert_int_equal(sampler.SequenceAt(i), alone.SequenceAt(i));
    assert_int_equal(weighted.SequenceAt(i), alone.SequenceAt(i));
  }
}

// Checkpoints hold positions, not orders: these values may never change.
void OrderIsPinned(void**) {
  const std::vector<int64_t> order = Take(MixtureSampler({4, 3}, {0.7, 0.3}, 42), 0, 12);
  const std::vector<int64_t> expected = {1, 4, 0, 3, 2, 5, 3, 2, 6, 0, 1, 6};
  assert_true(order == expected);
}

void SourcesOfOneSizeDiffer(void**) {
  MixtureSampler sampler({100, 100}, {}, 1);
  std::vector<int64_t> first, second;
  for (int64_t i = 0; i < 200; ++i) {
    const int64_t sequence = sampler.SequenceAt(i);
    (sequence < 100 ? first : second).push_back(sequence % 100);
  }
  assert_int_equal(first.size(), 100);
  int equal = 0;
  for (size_t i = 0; i < 100; ++i) equal += first[i] == second[i];
  assert_true(equal < 10);
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const CMUnitTest tests[] = {
      cmocka_unit_test(SharesHoldAtEveryPosition),
      cmocka_unit_test(SharesAddUp),
      cmocka_unit_test(EveryPositionIsReachedTheSameWay),
      cmocka_unit_test(AnEpochBySizeIsEverySequenceOnce),
      cmocka_unit_test(ASourceRepeatsOnlyWhenItIsThrough),
      cmocka_unit_test(OneSourceIsItsSampler),
      cmocka_unit_test(OrderIsPinned),
      cmocka_unit_test(SourcesOfOneSizeDiffer),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
