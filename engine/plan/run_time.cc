// Adds up a run.
#include "engine/plan/run_time.h"

#include <algorithm>
#include <cmath>

namespace traind::plan {
namespace {

// Multiples of `every` in (from, to], and one more at `to` if that is none.
double Occasions(int64_t every, int64_t from, int64_t to) {
  if (to <= from) return 0;
  if (every <= 0) return 1;
  const int64_t regular = to / every - from / every;
  return static_cast<double>(regular) + (to % every == 0 ? 0 : 1);
}

}  // namespace

double RunSeconds(const TrainingSpec& training, const RunTimes& times, int64_t from_step, int64_t to_step) {
  const double steps = static_cast<double>(std::max<int64_t>(0, to_step - from_step));
  const double working =
      steps * times.step + times.validation * Occasions(training.validate_every_steps, from_step, to_step);
  double checkpoints = 1;
  if (training.checkpoint_every_steps) {
    checkpoints = Occasions(*training.checkpoint_every_steps, from_step, to_step);
  } else if (training.checkpoint_every_seconds) {
    checkpoints = 1 + std::floor(working / *training.checkpoint_every_seconds);
  }
  return times.start + working + (steps > 0 ? (checkpoints - 1) * times.stall + times.checkpoint : 0);
}

int64_t LastStepWithin(const TrainingSpec& training, const RunTimes& times, int64_t from_step,
                       double seconds) {
  int64_t fits = from_step, over = kMostSteps;
  if (RunSeconds(training, times, from_step, over) <= seconds) return over;
  while (over - fits > 1) {
    const int64_t middle = fits + (over - fits) / 2;
    (RunSeconds(training, times, from_step, middle) <= seconds ? fits : over) = middle;
  }
  return fits;
}

std::optional<int64_t> TargetSteps(const TrainingSpec& training, std::optional<int64_t> data_tokens) {
  const Target& target = training.target;
  if (target.steps) return target.steps;
  if (target.tokens) {
    return *target.tokens / training.batch_tokens + (*target.tokens % training.batch_tokens == 0 ? 0 : 1);
  }
  if (target.epochs && data_tokens) {
    const auto sequences = static_cast<double>((*data_tokens - 1) / training.sequence_length);
    const double batches = *target.epochs * sequences / static_cast<double>(training.sequences_per_batch());
    const double tolerance = batches * 1e-12;  // a product within rounding of a whole number counts as that
    return static_cast<int64_t>(
        std::clamp(std::ceil(batches - tolerance), 1.0, static_cast<double>(kMostSteps)));
  }
  return std::nullopt;
}

}  // namespace traind::plan
