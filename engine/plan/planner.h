// The planner: which device, which strategy, what it needs and how long it takes. Pure: no clock, no files,
// no devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/plan/strategy.h"
#include "engine/spec/budget.h"
#include "engine/spec/device.h"
#include "engine/spec/model.h"
#include "engine/spec/training.h"

namespace traind::plan {

struct ClassBytes {
  std::string memory_class;  // weights, gradients, moments, activations, logits, workspace, data, context …
  int64_t bytes = 0;         // at the moment of the peak
};

struct Plan {
  Strategy strategy;
  DeviceSpec device;
  int64_t arena_bytes = 0;           // what the worker allocates
  int64_t predicted_peak_bytes = 0;  // of the worker process, context included
  std::vector<ClassBytes> memory;    // adds up to predicted_peak_bytes
  double compute_seconds = 0;        // per step
  double communication_seconds = 0;
  double bubble_seconds = 0;
  double step_seconds = 0;
  double validation_seconds = 0;        // one validation, 0 without
  double checkpoint_seconds = 0;        // one checkpoint, until it is durable
  double checkpoint_stall_seconds = 0;  // of these training waits, except for the last one
  double start_seconds = 0;             // from the worker's start to its first step
  int64_t checkpoint_bytes = 0;         // on disk, one
  int64_t disk_bytes = 0;               // all that is kept at once, the version included
  std::optional<int64_t> total_steps;   // unknown until EPOCHS knows its tokens
  double run_seconds = 0;               // all steps, validations and checkpoints; 0 if total_steps is unknown
  double gpu_hours = 0;
  double cost = 0;
  std::string hash;  // everything the bits depend on: model, training, strategy, device's instruction set,
                     // threads, libraries, and the engine's own numeric revision
};

struct RejectedPlan {
  Strategy strategy;
  std::string device;  // node:index
  std::string reason;
  int64_t peak_bytes = 0;
  double step_seconds = 0;
};

struct Headroom {
  std::string term;   // "wall_clock"
  std::string limit;  // "10m 00s"
  std::string predicted;
  std::string headroom;  // "-2m 10s" when broken
  bool broken = false;
};

struct PlanRequest {
  ModelSpec model;
  TrainingSpec training;
  Budget budget;
  double budget_used_seconds = 0;      // of earlier attempts, for ALTER and RESUME
  std::vector<DeviceSpec> devices;     // those that ON allows
  std::optional<int64_t> data_tokens;  // once tokenised
  std::optional<int64_t> validation_tokens;
  bool validates = false;
  int64_t data_bytes = 0;        // of the token cache, if known
  double now = 0;                // wall seconds, for DEADLINE
  std::optional<Strategy> keep;  // of an earlier attempt: only this one is considered
  int64_t start_step = 0;        // steps that are done
};

struct PlanChoice {
  Plan plan;
  std::vector<RejectedPlan> rejected;  // best first
  std::vector<Headroom> budget;
  std::vector<std::string> warnings;  // e.g. a broken budget that ELSE admits
};

// The best plan. NO_FEASIBLE_PLAN: nothing fits; the message names the smallest peak, what is free, and what
// would help. BUDGET_TOO_SMALL: the prediction breaks a budget without ELSE; the message names the binding
// term and the smallest budget that would do.
Result<PlanChoice> PlanTraining(const PlanRequest& request);

// The predicted peak of a worker that only evaluates, `sequences` of `sequence_length` at a time.
Result<Plan> PlanInference(const ModelSpec& model, const DeviceSpec& device, int64_t sequence_length,
                           int64_t sequences);
// The same of one that generates, with the keys and values of `context` positions; a step is as many tokens
// as one call takes.
Result<Plan> PlanGeneration(const ModelSpec& model, const DeviceSpec& device, int64_t context);

Json PlanToJson(const Plan& plan);
Result<Plan> PlanFromJson(const Json& object);

}  // namespace traind::plan
