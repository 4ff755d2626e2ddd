// Strategy: how one run is laid out over its devices. One device for now: groups, stages and sharding join
// here.
#pragma once

#include <cstdint>
#include <string>

namespace traind::plan {

// The family of instruction lists (planning.md 1) that one device has.
inline constexpr const char* kGradientAccumulation = "gradient_accumulation";

struct Strategy {
  int64_t micro_batch = 1;  // sequences per forward
  int64_t micro_batches =
      1;  // forwards per optimizer step; micro_batch · micro_batches = sequences per batch
  std::string schedule = kGradientAccumulation;

  bool operator==(const Strategy&) const = default;
};

}  // namespace traind::plan
