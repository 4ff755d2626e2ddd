// The histogram behind the loop's percentiles.
#include "daemon/lag_meter.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace traind::daemon {

int LagMeter::BucketOf(int64_t nanoseconds) {
  const auto value = static_cast<uint64_t>(std::max<int64_t>(nanoseconds, 1));
  const int octave = static_cast<int>(std::bit_width(value)) - 1;
  // The three bits after the leading one say which eighth of the octave it is.
  const uint64_t eighth = octave >= 3 ? (value >> (octave - 3)) & 7U : (value << (3 - octave)) & 7U;
  return std::min(octave * kBucketsPerOctave + static_cast<int>(eighth), kBucketsPerOctave * kOctaves - 1);
}

double LagMeter::UpperBoundNs(int bucket) {
  const int octave = bucket / kBucketsPerOctave;
  const int eighth = bucket % kBucketsPerOctave;
  return std::ldexp(1.0 + (eighth + 1) / 8.0, octave);
}

void LagMeter::Record(int64_t nanoseconds) {
  ++counts_[static_cast<size_t>(BucketOf(nanoseconds))];
  ++turns_;
  max_ns_ = std::max(max_ns_, nanoseconds);
}

double LagMeter::QuantileMs(double quantile) const {
  if (turns_ == 0) return 0;
  const auto wanted = static_cast<int64_t>(std::ceil(quantile * static_cast<double>(turns_)));
  int64_t seen = 0;
  for (size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted) {
      return std::min(UpperBoundNs(static_cast<int>(bucket)), static_cast<double>(max_ns_)) * 1e-6;
    }
  }
  return static_cast<double>(max_ns_) * 1e-6;
}

Json LagMeter::ToJson() const {
  return Json{{"turns", turns_},
              {"p50_ms", QuantileMs(0.5)},
              {"p99_ms", QuantileMs(0.99)},
              {"p999_ms", QuantileMs(0.999)},
              {"max_ms", static_cast<double>(max_ns_) * 1e-6}};
}

}  // namespace traind::daemon
