// Strategy: how one run is laid out over its devices. One device for now: groups, stages and sharding join
// here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind::plan {

// The family of instruction lists (planning.md 1) that one device has.
inline constexpr const char* kGradientAccumulation = "gradient_accumulation";

// What the forward pass leaves for the backward pass, which computes the rest again: the same operators on
// the same values, and so the same bits.
enum class Recompute {
  kNone,       // everything is left
  kSelective,  // outputs of norms, attention and activations are computed again, none of the layers' linears
  kFull,       // each layer leaves its input only
};
inline constexpr Recompute kRecomputes[] = {Recompute::kNone, Recompute::kSelective, Recompute::kFull};
std::string_view RecomputeName(Recompute recompute);  // "selective"
Result<Recompute> ParseRecompute(std::string_view name);

struct Strategy {
  int64_t micro_batch = 1;  // sequences per forward
  int64_t micro_batches =
      1;  // forwards per optimizer step; micro_batch · micro_batches = sequences per batch
  std::string schedule = kGradientAccumulation;
  Recompute recompute = Recompute::kNone;
  // Whether memory holds a whole snapshot, so that a checkpoint is written while steps go on. Changes no bit.
  bool snapshot = false;

  bool operator==(const Strategy&) const = default;
};

}  // namespace traind::plan
