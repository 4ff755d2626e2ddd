// How long a run takes, and how many steps fit a time.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/spec/training.h"

namespace traind::plan {

// Seconds of the parts of a run.
struct RunTimes {
  double start = 0;       // from the worker's start to its first step
  double step = 0;        //
  double validation = 0;  // one; 0 without validation data
  double checkpoint = 0;  // the last one, which is waited for
  double stall = 0;       // what any other keeps training waiting
};

// Steps from_step+1 … to_step with their validations and checkpoints; one of each always stands at the end.
double RunSeconds(const TrainingSpec& training, const RunTimes& times, int64_t from_step, int64_t to_step);

// The last step of the longest run from from_step that takes at most `seconds`; from_step if not even one
// step fits. At most kMostSteps.
inline constexpr int64_t kMostSteps = int64_t{1} << 53;
int64_t LastStepWithin(const TrainingSpec& training, const RunTimes& times, int64_t from_step,
                       double seconds);

// What FOR asks, in steps; nullopt where it is not known: no FOR, or EPOCHS before the data is tokenised.
std::optional<int64_t> TargetSteps(const TrainingSpec& training, std::optional<int64_t> data_tokens);

}  // namespace traind::plan
