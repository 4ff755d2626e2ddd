// TrainingSpec: ranges and the learning-rate schedule.
#include "engine/spec/training.h"

#include <cmath>
#include <numbers>

#include "engine/spec/names.h"

namespace traind {
namespace {

constexpr spec::Named<Precision> kPrecisions[] = {{Precision::kFp32, "fp32"}, {Precision::kBf16, "bf16"}};
constexpr spec::Named<Scheduler> kSchedulers[] = {{Scheduler::kCosine, "cosine"},
                                                  {Scheduler::kLinear, "linear"},
                                                  {Scheduler::kConstant, "constant"},
                                                  {Scheduler::kWarmupStableDecay, "warmup_stable_decay"}};

// A setting that is a real number, and its range. `open_low`: the low end itself is refused.
struct RealRange {
  std::string_view option;
  double TrainingSpec::*value;
  double low;
  bool open_low;
  double high;
  bool open_high;
};
constexpr RealRange kReals[] = {
    {"learning_rate", &TrainingSpec::learning_rate, 0, true, 1000, false},
    {"min_lr_ratio", &TrainingSpec::min_learning_rate_ratio, 0, false, 1, false},
    {"weight_decay", &TrainingSpec::weight_decay, 0, false, 1000, false},
    {"adam_beta1", &TrainingSpec::adam_beta1, 0, false, 1, true},
    {"adam_beta2", &TrainingSpec::adam_beta2, 0, false, 1, true},
    {"adam_epsilon", &TrainingSpec::adam_epsilon, 0, true, 1, false},
    {"max_grad_norm", &TrainingSpec::max_grad_norm, 0, false, 1e30, false},
    {"decay_ratio", &TrainingSpec::decay_ratio, 0, true, 1, false},
};

struct IntegerRange {
  std::string_view option;
  int64_t TrainingSpec::*value;
  int64_t low;
  int64_t high;
};
constexpr int64_t kManySteps = int64_t{1} << 53;  // steps and tokens are exact as doubles
constexpr IntegerRange kIntegers[] = {
    {"warmup_steps", &TrainingSpec::warmup_steps, 0, kManySteps},
    {"sequence_length", &TrainingSpec::sequence_length, 1, 1 << 24},
    {"batch_tokens", &TrainingSpec::batch_tokens, 1, int64_t{1} << 40},
    {"validate_every_steps", &TrainingSpec::validate_every_steps, 0, kManySteps},
    {"keep_checkpoints", &TrainingSpec::keep_checkpoints, 2, 1000000},
};

Status ValidateReals(const TrainingSpec& training) {
  for (const RealRange& range : kReals) {
    const double value = training.*range.value;
    const bool above = range.open_low ? value > range.low : value >= range.low;
    const bool below = range.open_high ? value < range.high : value <= range.high;
    if (above && below) continue;  // false for NaN too
    return spec::InvalidOption(
        range.option, std::string(range.option) + " is " + DumpJson(Json(value)) + "; it must be " +
                          (range.open_low ? "above " : "at least ") + DumpJson(Json(range.low)) + " and " +
                          (range.open_high ? "below " : "at most ") + DumpJson(Json(range.high)));
  }
  return Ok();
}

Status ValidateIntegers(const TrainingSpec& training) {
  for (const IntegerRange& range : kIntegers) {
    const int64_t value = training.*range.value;
    if (value >= range.low && value <= range.high) continue;
    return spec::InvalidOption(range.option, std::string(range.option) + " is " + std::to_string(value) +
                                                 "; it must be from " + std::to_string(range.low) + " to " +
                                                 std::to_string(range.high));
  }
  if (training.batch_tokens % training.sequence_length != 0) {
    return spec::InvalidOption("batch_tokens", "batch_tokens " + std::to_string(training.batch_tokens) +
                                                   " is not a multiple of sequence_length " +
                                                   std::to_string(training.sequence_length));
  }
  return Ok();
}

Status ValidateTarget(const Target& target) {
  const int given = (target.steps ? 1 : 0) + (target.tokens ? 1 : 0) + (target.epochs ? 1 : 0);
  if (given > 1) return spec::InvalidOption("target", "FOR names more than one target");
  const bool steps_fit = !target.steps || (*target.steps >= 1 && *target.steps <= kManySteps);
  const bool tokens_fit = !target.tokens || (*target.tokens >= 1 && *target.tokens <= kManySteps);
  const bool epochs_fit = !target.epochs || (*target.epochs > 0 && *target.epochs <= 1e9);
  if (steps_fit && tokens_fit && epochs_fit) return Ok();
  return spec::InvalidOption("target",
                             "FOR needs an amount above 0, of at most 2^53 steps or tokens or 10^9 epochs");
}

Status ValidateCheckpoints(const TrainingSpec& training) {
  if (training.checkpoint_every_steps && *training.checkpoint_every_steps < 1) {
    return spec::InvalidOption("checkpoint", "CHECKPOINT EVERY needs at least 1 step");
  }
  if (training.checkpoint_every_seconds && !(*training.checkpoint_every_seconds > 0)) {
    return spec::InvalidOption("checkpoint", "CHECKPOINT EVERY needs a duration above 0");
  }
  return Ok();
}

Status ValidateStop(const std::optional<StopCondition>& until) {
  if (!until) return Ok();
  if (until->metric != "loss" && until->metric != "val_loss") {
    return spec::InvalidOption("until", "UNTIL watches loss or val_loss, not '" + until->metric + "'");
  }
  if (!std::isfinite(until->below)) return spec::InvalidOption("until", "UNTIL needs a finite number");
  return Ok();
}

// The share of the way from `begin` to `end` at `step`, in [0, 1].
double Progress(double step, double begin, double end) {
  if (end <= begin) return step > begin ? 1 : 0;
  return std::min(1.0, std::max(0.0, (step - begin) / (end - begin)));
}

}  // namespace

std::string_view PrecisionName(Precision precision) {
  return spec::NameOf(kPrecisions, precision);
}

Result<Precision> ParsePrecision(std::string_view name) {
  return spec::ValueOf(kPrecisions, name, ErrorCode::UNKNOWN_PRECISION, "precision");
}

std::string_view SchedulerName(Scheduler scheduler) {
  return spec::NameOf(kSchedulers, scheduler);
}

Result<Scheduler> ParseScheduler(std::string_view name) {
  return spec::ValueOf(kSchedulers, name, ErrorCode::INVALID_OPTION, "lr_scheduler_type");
}

Status ValidateTraining(const TrainingSpec& training) {
  TRAIND_TRY(ValidateReals(training));
  TRAIND_TRY(ValidateIntegers(training));
  TRAIND_TRY(ValidateTarget(training.target));
  TRAIND_TRY(ValidateCheckpoints(training));
  return ValidateStop(training.until);
}

double LearningRateAt(const TrainingSpec& training, int64_t step, int64_t total_steps) {
  const double high = training.learning_rate;
  const double low = high * training.min_learning_rate_ratio;
  const auto now = static_cast<double>(step);
  const auto warmup = static_cast<double>(training.warmup_steps);
  const auto total = static_cast<double>(total_steps);
  if (step < training.warmup_steps) return high * now / warmup;
  if (total_steps == 0) return high;
  switch (training.scheduler) {
    case Scheduler::kConstant:
      return high;
    case Scheduler::kLinear:
      return high + (low - high) * Progress(now, warmup, total);
    case Scheduler::kCosine:
      return low + (high - low) * 0.5 * (1 + std::cos(std::numbers::pi * Progress(now, warmup, total)));
    case Scheduler::kWarmupStableDecay:
      break;
  }
  const double decay_begin = std::max(warmup, total - training.decay_ratio * total);
  return high + (low - high) * Progress(now, decay_begin, total);
}

}  // namespace traind
