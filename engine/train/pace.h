// Pace: how long things take here, first predicted, then measured; and how many steps fit into a time.
#pragma once

#include <cstdint>
#include <deque>

#include "engine/spec/training.h"

namespace traind::train {

// Seconds of one step, one validation (0 without), one checkpoint that is waited for, and of these what one
// that is written in the background keeps training waiting.
struct PaceSeconds {
  double step = 0;
  double validation = 0;
  double checkpoint = 0;
  double stall = 0;
};

class Pace {
 public:
  explicit Pace(const PaceSeconds& predicted) : predicted_(predicted), seconds_(predicted) {}

  // The first step of a process prepares things: it counts only until there are others.
  void AddStep(double seconds);
  void AddValidation(double seconds);
  void AddCheckpoint(double seconds) { seconds_.checkpoint = seconds; }
  void AddStall(double seconds) { seconds_.stall = seconds; }

  // The mean of the newest measured steps, the newest validation and checkpoint; what has not been measured
  // as predicted, a validation corrected as steps were.
  const PaceSeconds& seconds() const { return seconds_; }

 private:
  static constexpr size_t kWindow = 20;

  void SetStep(double seconds);

  const PaceSeconds predicted_;
  PaceSeconds seconds_;
  bool first_seen_ = false;
  bool validation_seen_ = false;
  std::deque<double> steps_;
};

// The budget as the target: steps are laid out so that they end within it.

// Seconds at the end of a budget of `budget_seconds` that are kept for the last validation, the last
// checkpoint and its publication.
double ReserveSeconds(const PaceSeconds& pace, double budget_seconds);

// total_steps for a run that has done `step` updates and has `seconds` for more, with the validations and
// checkpoints that fall due on the way; at least step + 1.
int64_t LayOutSteps(const TrainingSpec& training, const PaceSeconds& pace, int64_t step, double seconds);

// The last step before the learning rate begins to fall towards the end, given total_steps: from there on
// total_steps is settled. INT64_MAX for a constant rate.
int64_t LastStableStep(const TrainingSpec& training, int64_t total_steps);

// Whether steps are laid out anew after `steps_here` steps of this process, of which the newest is `step`: at
// its 2nd, 5th, 10th and 20th, as the decay is about to begin, and where an end comes that nothing measured
// stands behind.
bool IsTimeToLayOut(const TrainingSpec& training, int64_t step, int64_t steps_here, int64_t total_steps);

}  // namespace traind::train
