// Deals positions out and finds the sequences behind them.
#include "engine/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace traind::data {
namespace {

constexpr int64_t kShares = int64_t{1} << 40;

// Sources of one size do not go through the same permutations. The first has the run's own seed.
int64_t SeedOf(int64_t seed, size_t source) {
  return static_cast<int64_t>(static_cast<uint64_t>(seed) + source * 0xd1342543de82ef95);
}

}  // namespace

std::vector<int64_t> SharesOf(const std::vector<double>& weights) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;  // of weights / largest, which cannot overflow
  for (const double weight : weights) sum += weight / largest;
  std::vector<int64_t> shares;
  for (const double weight : weights) {
    const double share = weight / largest / sum * static_cast<double>(kShares);
    shares.push_back(std::max<int64_t>(1, static_cast<int64_t>(std::floor(share))));
  }
  const int64_t over = kShares - std::accumulate(shares.begin(), shares.end(), int64_t{0});
  *std::max_element(shares.begin(), shares.end()) += over;
  return shares;
}

SourceOrder::SourceOrder(const std::vector<int64_t>& shares, int64_t seed) {
  const auto count = static_cast<int64_t>(shares.size());
  const int64_t scale = std::max<int64_t>(1, 2 * count - 2);
  // Which of two equals goes first: their places in a permutation that the seed makes.
  const Permutation ranks(count, static_cast<uint64_t>(seed));
  for (int64_t i = 0; i < count; ++i) {
    sources_.push_back({shares[static_cast<size_t>(i)] * scale, 0, 0, ranks.At(i)});
  }
  unit_ = std::accumulate(shares.begin(), shares.end(), int64_t{0}) * scale;
  threshold_ = unit_ / scale;
}

size_t SourceOrder::Next() {
  size_t chosen = 0;
  double first_deadline = 0;
  bool found = false;
  for (size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    source.owed += source.share;
    if (source.owed < threshold_) continue;
    // Positions from here until it is owed more than the bound.
    const double deadline =
        static_cast<double>(unit_ - threshold_ - source.owed) / static_cast<double>(source.share);
    if (found &&
        (deadline > first_deadline || (deadline == first_deadline && source.rank > sources_[chosen].rank))) {
      continue;
    }
    found = true;
    chosen = i;
    first_deadline = deadline;
  }
  sources_[chosen].owed -= unit_;
  ++sources_[chosen].count;
  ++position_;
  return chosen;
}

MixtureSampler::MixtureSampler(const std::vector<int64_t>& sequences, const std::vector<double>& weights,
                               int64_t seed)
    : shares_(weights.empty() ? sequences : SharesOf(weights)), seed_(seed), order_(shares_, seed) {
  int64_t begin = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    samplers_.emplace_back(sequences[i], SeedOf(seed, i));
    begins_.push_back(begin);
    begin += sequences[i];
  }
}

int64_t MixtureSampler::SequenceAt(int64_t position) {
  if (samplers_.size() == 1) return samplers_.front().SequenceAt(position);
  if (position < order_.position() - 1) order_ = SourceOrder(shares_, seed_);
  while (order_.position() <= position) source_ = order_.Next();
  return begins_[source_] + samplers_[source_].SequenceAt(order_.count(source_) - 1);
}

}  // namespace traind::data
