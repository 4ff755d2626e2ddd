// How long the loop's turns take: a histogram of fixed size.
//
// A turn's length is the longest time that an event can have waited for it, so its percentiles are the loop's
// lag. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/json.h"

namespace traind::daemon {

class LagMeter {
 public:
  // Counts one turn.
  void Record(int64_t nanoseconds);

  int64_t turns() const { return turns_; }
  int64_t max_ns() const { return max_ns_; }

  // The length that a share `quantile` of the turns did not exceed, to within 1/8; 0 before the first turn.
  double QuantileMs(double quantile) const;

  // {"turns":…,"p50_ms":…,"p99_ms":…,"p999_ms":…,"max_ms":…}
  Json ToJson() const;

 private:
  // Eight buckets to each doubling of the length, from 1 ns on.
  static constexpr int kBucketsPerOctave = 8;
  static constexpr int kOctaves = 44;
  static int BucketOf(int64_t nanoseconds);
  static double UpperBoundNs(int bucket);

  std::array<int64_t, static_cast<size_t>(kBucketsPerOctave* kOctaves)> counts_{};
  int64_t turns_ = 0;
  int64_t max_ns_ = 0;
};

}  // namespace traind::daemon
