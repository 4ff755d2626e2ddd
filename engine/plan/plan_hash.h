// The plan hash: everything that the bits of a run depend on.
#pragma once

#include <string>

#include "engine/plan/planner.h"

namespace traind::plan {

// Raised whenever the engine's arithmetic changes: a run is resumed bit for bit only under the same one.
inline constexpr int kNumericRevision = 2;

// Model, data order, optimizer and schedule settings, strategy, instruction set, threads, libraries and
// kNumericRevision. How often is looked, saved and for how long is left out: it changes no bit of what is
// trained.
std::string PlanHash(const ModelSpec& model, const TrainingSpec& training, const Strategy& strategy,
                     const DeviceSpec& device);

}  // namespace traind::plan
