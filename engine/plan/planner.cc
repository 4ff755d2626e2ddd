// Chooses a plan: enumerate, keep what fits, take the fastest, hold it against the budget.
#include "engine/plan/planner.h"

#include <algorithm>
#include <span>

#include "engine/base/quantity.h"
#include "engine/plan/budget_check.h"
#include "engine/plan/candidates.h"
#include "engine/plan/cost.h"
#include "engine/plan/memory.h"
#include "engine/plan/plan_hash.h"
#include "engine/plan/refusal.h"
#include "engine/plan/run_time.h"
#include "engine/plan/saturating.h"
#include "engine/tensor/tensor.h"

namespace traind::plan {
namespace {

// A faster plan is worth more memory only if it gains at least this share.
constexpr double kWorthwhile = 0.02;

constexpr size_t kMostRejected = 16;

std::string DeviceName(const DeviceSpec& device) {
  return device.node + ":" + std::to_string(device.index);
}

bool Fits(const Plan& plan) {
  return plan.predicted_peak_bytes <= UsableBytes(plan.device);
}

RunTimes TimesOf(const Plan& plan) {
  return {plan.start_seconds, plan.step_seconds, plan.validation_seconds, plan.checkpoint_seconds};
}

// The strategies to compare; the kept one is among them whatever else is.
std::vector<Strategy> StrategiesOf(const PlanRequest& request) {
  std::vector<Strategy> strategies = Strategies(request.training);
  if (!request.keep || std::ranges::count(strategies, *request.keep) > 0) return strategies;
  const bool covers = SaturatingMultiply(request.keep->micro_batch, request.keep->micro_batches) ==
                      request.training.sequences_per_batch();
  if (covers) strategies.push_back(*request.keep);
  return strategies;
}

// Whether weights and moments alone are too much: then no strategy fits, and one shows by how much.
bool Hopeless(const PlanRequest& request, const DeviceSpec& device) {
  return SaturatingMultiply(ParameterCount(request.model), 12) > UsableBytes(device);
}

// Scales the nominal seconds of one device's plans so that the best one's rank is its predicted step: devices
// are compared by what was measured, strategies on one device are not.
void ScaleRanks(std::span<Plan> plans) {
  if (plans.empty()) return;
  const Plan& best = *std::ranges::min_element(plans, {}, &Plan::rank_seconds);
  const double scale = best.step_seconds / best.rank_seconds;
  for (Plan& plan : plans) plan.rank_seconds *= scale;
}

// Every strategy on every device, fastest first. Memory does not grow steadily with the micro-batch (with a
// single one, gradients live shorter), so that one that does not fit says nothing of the next.
Result<std::vector<Plan>> Enumerate(const PlanRequest& request) {
  std::vector<Plan> plans;
  if (request.model.num_hidden_layers > kMaxTableLayers) {
    ModelSpec shallow = request.model;  // whether anything but its depth is too much
    shallow.num_hidden_layers = 1;
    TRAIND_TRY(BuildTrainingTable(shallow, request.training, {}, {}).status());
    return plans;
  }
  const std::vector<Strategy> strategies = StrategiesOf(request);
  for (const DeviceSpec& device : request.devices) {
    const size_t first = plans.size();
    for (const Strategy& strategy : strategies) {
      TRAIND_ASSIGN(Plan plan, PlanOf(request, device, strategy));
      plans.push_back(std::move(plan));
      if (Hopeless(request, device)) break;
    }
    ScaleRanks(std::span(plans).subspan(first));
  }
  std::ranges::stable_sort(plans, {}, &Plan::rank_seconds);
  return plans;
}

// The plan to run, or nullptr: of those that fit and are within kWorthwhile of the fastest, the smallest.
const Plan* Choose(const std::vector<Plan>& plans, const std::optional<Strategy>& keep) {
  const Plan* chosen = nullptr;
  double fastest = 0;
  for (const Plan& plan : plans) {
    if (!Fits(plan)) continue;
    if (keep && plan.strategy == *keep) return &plan;
    if (chosen == nullptr) chosen = &plan, fastest = plan.rank_seconds;
    const bool as_fast = plan.rank_seconds <= fastest * (1 + kWorthwhile);
    if (as_fast && plan.predicted_peak_bytes < chosen->predicted_peak_bytes) chosen = &plan;
  }
  return chosen;
}

std::string WhyNot(const Plan& plan, const Plan& chosen) {
  const int64_t usable = UsableBytes(plan.device);
  if (!Fits(plan)) {
    const std::string missing =
        plan.predicted_peak_bytes == kTooLarge
            ? "more memory than can be counted"
            : FormatBytes(static_cast<double>(plan.predicted_peak_bytes)) + ", " +
                  FormatBytes(static_cast<double>(plan.predicted_peak_bytes - usable)) +
                  " more than may be used";
    return "does not fit: needs " + missing;
  }
  if (plan.rank_seconds > chosen.rank_seconds) {
    return "slower: " + FormatDuration(plan.rank_seconds) + " a step instead of " +
           FormatDuration(chosen.rank_seconds);
  }
  return "needs " +
         FormatBytes(static_cast<double>(plan.predicted_peak_bytes - chosen.predicted_peak_bytes)) +
         " more memory and is less than 2 % faster";
}

std::vector<RejectedPlan> Rejected(const std::vector<Plan>& plans, const Plan& chosen) {
  std::vector<RejectedPlan> rejected;
  for (const Plan& plan : plans) {
    if (&plan == &chosen || rejected.size() == kMostRejected) continue;
    rejected.push_back({plan.strategy, DeviceName(plan.device), WhyNot(plan, chosen),
                        plan.predicted_peak_bytes, plan.rank_seconds});
  }
  return rejected;
}

void SetRun(const PlanRequest& request, int64_t total_steps, Plan* plan) {
  plan->total_steps = total_steps;
  plan->run_seconds = RunSeconds(request.training, TimesOf(*plan), request.start_step, total_steps);
  plan->gpu_hours = plan->run_seconds / 3600;
  plan->cost = plan->gpu_hours * plan->device.price_per_hour;
}

// A broken budget is an error, or a warning where ELSE says what is to happen.
Status Admit(const PlanRequest& request, double run_seconds, PlanChoice* choice) {
  Status broken = CheckBudget(request, choice->plan, run_seconds);
  if (broken.ok()) return broken;
  if (!request.budget.action_explicit) return broken;
  choice->warnings.push_back("the budget will be used up before the target (" + broken.message() +
                             "); then: " + std::string(LimitActionName(request.budget.action)));
  return Ok();
}

// FOR says how many steps.
Status LayOutTarget(const PlanRequest& request, int64_t total_steps, PlanChoice* choice) {
  SetRun(request, total_steps, &choice->plan);
  choice->budget =
      HeadroomOf(request.budget, request.budget_used_seconds, request.now, choice->plan.run_seconds);
  return Admit(request, choice->plan.run_seconds, choice);
}

// The budget says how many steps: as many as fit it with the last validation and checkpoint.
Status LayOutBudget(const PlanRequest& request, double seconds_left, PlanChoice* choice) {
  const RunTimes times = TimesOf(choice->plan);
  int64_t last = LastStepWithin(request.training, times, request.start_step, seconds_left);
  if (last == request.start_step) {  // not even one step
    const double one = RunSeconds(request.training, times, request.start_step, request.start_step + 1);
    TRAIND_TRY(Admit(request, one, choice));
    last = request.start_step + 1;
  }
  SetRun(request, last, &choice->plan);
  choice->budget =
      HeadroomOf(request.budget, request.budget_used_seconds, request.now, choice->plan.run_seconds);
  return Ok();
}

Status LayOut(const PlanRequest& request, PlanChoice* choice) {
  const Target& target = request.training.target;
  const std::optional<int64_t> steps = TargetSteps(request.training, request.data_tokens);
  if (steps) return LayOutTarget(request, *steps, choice);
  const std::optional<double> left = SecondsLeft(request.budget, request.budget_used_seconds, request.now);
  if (!target.epochs && left) return LayOutBudget(request, *left, choice);
  choice->budget = HeadroomOf(request.budget, request.budget_used_seconds, request.now, std::nullopt);
  if (target.epochs && left) {
    choice->warnings.push_back(
        "how long the run takes, and whether it keeps to its budget, is known once the data is tokenised");
  }
  return Ok();
}

}  // namespace

Result<PlanChoice> PlanTraining(const PlanRequest& request) {
  TRAIND_TRY(ValidateModel(request.model));
  TRAIND_TRY(ValidateTraining(request.training));
  TRAIND_ASSIGN(const std::vector<Plan> plans, Enumerate(request));
  const Plan* chosen = Choose(plans, request.keep);
  if (chosen == nullptr) return RefuseMemory(request, plans);
  PlanChoice choice;
  choice.plan = *chosen;
  choice.rejected = Rejected(plans, *chosen);
  if (request.keep && choice.plan.strategy != *request.keep) {
    choice.warnings.push_back("the plan of the earlier attempt (micro_batch " +
                              std::to_string(request.keep->micro_batch) +
                              ") no longer fits, so losses may differ in their last bits");
  }
  choice.plan.hash = PlanHash(request.model, request.training, choice.plan.strategy, choice.plan.device);
  TRAIND_TRY(LayOut(request, &choice));
  return choice;
}

Result<Plan> PlanInference(const ModelSpec& model, const DeviceSpec& device, int64_t sequence_length,
                           int64_t sequences) {
  TRAIND_TRY(ValidateModel(model));
  TableOptions options;
  options.threads = device.threads;
  TRAIND_ASSIGN(const MemoryTable table, BuildInferenceTable(model, sequences, sequence_length, options));
  Plan plan;
  plan.strategy.micro_batch = sequences;
  plan.device = device;
  AddMemory(table, device, 0, &plan);
  plan.step_seconds = plan.compute_seconds = InstructionSeconds(table, InstructionKind::kValidate, device);
  plan.start_seconds = StartSeconds(plan.arena_bytes, table.parameter_elements);
  if (!Fits(plan)) return RefuseInference(plan, table.parameter_elements);
  return plan;
}

}  // namespace traind::plan
