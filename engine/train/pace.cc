// Measures pace and lays out steps.
#include "engine/train/pace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace traind::train {
namespace {

constexpr std::array<int64_t, 4> kLayoutSteps = {2, 5, 10, 20};

// For what comes after the checkpoint: its row, the model's version, the process's end.
constexpr double kPublishSeconds = 0.2;
constexpr double kMarginShare = 0.01;

// A step without measure or prediction; a nonsense plan must not divide by zero.
constexpr double kLeastStepSeconds = 1e-6;

}  // namespace

void Pace::AddStep(double seconds) {
  if (!std::exchange(first_seen_, true)) {
    SetStep(seconds);
    return;
  }
  steps_.push_back(seconds);
  if (steps_.size() > kWindow) steps_.pop_front();
  SetStep(std::accumulate(steps_.begin(), steps_.end(), 0.0) / static_cast<double>(steps_.size()));
}

void Pace::SetStep(double seconds) {
  seconds_.step = seconds;
  if (validation_seen_ || predicted_.step <= 0) return;
  seconds_.validation = predicted_.validation * seconds / predicted_.step;
}

void Pace::AddValidation(double seconds) {
  seconds_.validation = seconds;
  validation_seen_ = true;
}

double ReserveSeconds(const PaceSeconds& pace, double budget_seconds) {
  return pace.validation + pace.checkpoint + kPublishSeconds + kMarginShare * budget_seconds;
}

int64_t LayOutSteps(const TrainingSpec& training, const PaceSeconds& pace, int64_t step, double seconds) {
  double each = std::max(pace.step, kLeastStepSeconds);
  if (training.validate_every_steps > 0) {
    each += pace.validation / static_cast<double>(training.validate_every_steps);
  }
  if (training.checkpoint_every_steps) {
    each += pace.stall / static_cast<double>(*training.checkpoint_every_steps);
  } else if (training.checkpoint_every_seconds) {
    each *= 1 + pace.stall / *training.checkpoint_every_seconds;
  }
  constexpr double kMostSteps = 1e15;
  return step + static_cast<int64_t>(std::clamp(std::floor(seconds / each), 1.0, kMostSteps));
}

int64_t LastStableStep(const TrainingSpec& training, int64_t total_steps) {
  switch (training.scheduler) {
    case Scheduler::kConstant:
      return INT64_MAX;
    case Scheduler::kLinear:
    case Scheduler::kCosine:
      return training.warmup_steps;
    case Scheduler::kWarmupStableDecay:
      break;
  }
  const auto total = static_cast<double>(total_steps);
  return std::max(training.warmup_steps,
                  static_cast<int64_t>(std::floor(total - training.decay_ratio * total)));
}

bool IsTimeToLayOut(const TrainingSpec& training, int64_t step, int64_t steps_here, int64_t total_steps) {
  if (std::ranges::find(kLayoutSteps, steps_here) != kLayoutSteps.end()) return true;
  if (step == total_steps) {
    return steps_here < kLayoutSteps.back() || training.scheduler == Scheduler::kConstant;
  }
  return training.scheduler == Scheduler::kWarmupStableDecay && step == LastStableStep(training, total_steps);
}

}  // namespace traind::train
