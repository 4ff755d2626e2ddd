// TrainingSpec: how to learn, until when, and how often to look and to save. Settled at submission, kept with
// the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {

enum class Precision { kFp32, kBf16 };
enum class Scheduler { kCosine, kLinear, kConstant, kWarmupStableDecay };

// bf16: weights and activations, with master weights, gradients and moments in fp32.
std::string_view PrecisionName(Precision precision);      // fp32 bf16
Result<Precision> ParsePrecision(std::string_view name);  // UNKNOWN_PRECISION
std::string_view SchedulerName(Scheduler scheduler);      // cosine linear constant warmup_stable_decay
Result<Scheduler> ParseScheduler(std::string_view name);  // INVALID_OPTION

// Exactly one is set, or none: then the budget is the target.
struct Target {
  std::optional<int64_t> steps;
  std::optional<int64_t> tokens;
  std::optional<double> epochs;
  bool operator==(const Target&) const = default;
};

// UNTIL val_loss < x  |  UNTIL loss < x
struct StopCondition {
  std::string metric;  // "loss" or "val_loss"
  double below = 0;
  bool operator==(const StopCondition&) const = default;
};

struct TrainingSpec {
  double learning_rate = 3e-4;
  double min_learning_rate_ratio = 0.1;  // of learning_rate, where cosine and linear end
  double weight_decay = 0.1;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.95;
  double adam_epsilon = 1e-8;
  double max_grad_norm = 1.0;  // 0: no clipping
  int64_t warmup_steps = 0;
  double decay_ratio = 0.2;  // share of total_steps that warmup_stable_decay decays in
  Scheduler scheduler = Scheduler::kCosine;
  int64_t sequence_length = 0;
  int64_t batch_tokens = 0;  // a multiple of sequence_length
  Precision precision = Precision::kFp32;
  int64_t seed = 0;

  Target target;
  std::optional<StopCondition> until;
  int64_t validate_every_steps = 0;  // 0: only at the end, if there is validation data
  std::optional<int64_t> checkpoint_every_steps;
  std::optional<double> checkpoint_every_seconds;
  int64_t keep_checkpoints = 3;  // at least 2

  int64_t sequences_per_batch() const { return batch_tokens / sequence_length; }
  bool operator==(const TrainingSpec&) const = default;
};

// INVALID_OPTION with detail_json {"option": name}.
Status ValidateTraining(const TrainingSpec& training);

// The learning rate of update `step` (1-based) out of total_steps (0: unknown, the stable phase goes on).
//   warm-up: learning_rate · step / warmup_steps; then by scheduler:
//   constant; linear and cosine from learning_rate at warmup_steps to min_learning_rate_ratio·learning_rate
//   at total_steps; warmup_stable_decay: constant, then linear to min_learning_rate_ratio over the last
//   decay_ratio·total_steps.
double LearningRateAt(const TrainingSpec& training, int64_t step, int64_t total_steps);

Json TrainingToJson(const TrainingSpec& training);
Result<TrainingSpec> TrainingFromJson(const Json& object);

}  // namespace traind
