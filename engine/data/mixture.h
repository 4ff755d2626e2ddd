// The order in which the sequences of one or more sources are trained on.
//
// Which source the sequence at a position comes from depends on the weights, the seed and the position alone,
// never on the plan; which of the source's sequences it is, on how many that source has given before: each
// source goes through epochs of its own, each a permutation (sampler.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/data/sampler.h"

namespace traind::data {

// Deals positions out to sources so that after every one each source's count is within one of its share:
// |count − positions · weight / sum| < 1. For k sources the bound is 1 − 1/(2k − 2), and no method can do
// better (Tijdeman, "The chairman assignment problem", 1980): a source may be served once it is owed 1/(2k −
// 2) of a position, and of those that may, the one whose bound would be broken first is.
class SourceOrder {
 public:
  // Shares ≥ 1 of their sum, at least one of them; their sum at most 2^40. What a source is owed is exact
  // however long the run is.
  SourceOrder(const std::vector<int64_t>& shares, int64_t seed);

  // The source of the next position.
  size_t Next();
  int64_t position() const { return position_; }
  // How often `source` has been served.
  int64_t count(size_t source) const { return sources_[source].count; }

 private:
  struct Source {
    int64_t share = 0;
    int64_t owed = 0;  // position · share − count · unit_
    int64_t count = 0;
    int64_t rank = 0;  // of two that are equal the one with the lower rank goes first
  };

  std::vector<Source> sources_;
  int64_t unit_ = 0;  // the sum of all shares, scaled so that the threshold is whole
  int64_t threshold_ = 0;
  int64_t position_ = 0;
};

// Weights > 0 as shares that add up to 2^40, each at least 1; what rounding leaves over goes to the largest.
std::vector<int64_t> SharesOf(const std::vector<double>& weights);

// The endless sequence of a mixture's sequences. Sources are numbered, and their sequences one after the
// other: those of source 0 first.
class MixtureSampler {
 public:
  // `sequences` of each source, ≥ 1. `weights` as many, or empty: by size, so that each source's epochs begin
  // together and an epoch of the mixture is every sequence once.
  MixtureSampler(const std::vector<int64_t>& sequences, const std::vector<double>& weights, int64_t seed);

  // The sequence at `position` ≥ 0. Going on from the last position asked for is quick; going back, or far
  // ahead, counts from the beginning or up to there (about 10⁸ positions a second).
  int64_t SequenceAt(int64_t position);

 private:
  std::vector<int64_t> shares_;
  int64_t seed_;
  std::vector<Sampler> samplers_;
  std::vector<int64_t> begins_;  // of each source's sequences
  SourceOrder order_;
  size_t source_ = 0;  // of position order_.position() − 1
};

}  // namespace traind::data
