// Chooses a plan: enumerate, keep what fits, take the fastest, hold it against the budget.
#include "engine/plan/planner.h"

#include <algorithm>

#include "engine/base/quantity.h"
#include "engine/plan/budget_check.h"
#include "engine/plan/candidates.h"
#include "engine/plan/cost.h"
#include "engine/plan/memory.h"
#include "engine/plan/plan_hash.h"
#include "engine/plan/process_memory.h"
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
  return {plan.start_seconds, plan.step_seconds, plan.validation_seconds, plan.checkpoint_seconds,
          plan.checkpoint_stall_seconds};
}

// The strategies to compare: all, or the one that an earlier attempt ran with.
std::vector<Strategy> StrategiesOf(const PlanRequest& request) {
  if (!request.keep) return Strategies(request.training);
  Strategy kept = *request.keep;
  kept.snapshot = false;  // found anew: what is free changes
  const bool covers = SaturatingMultiply(request.keep->micro_batch, request.keep->micro_batches) ==
                      request.training.sequences_per_batch();
  return covers ? std::vector<Strategy>{kept} : Strategies(request.training);
}

// Whether weights and moments alone are too much: then no strategy fits, and one shows by how much.
bool Hopeless(const PlanRequest& request, const DeviceSpec& device) {
  return SaturatingMultiply(ParameterCount(request.model), 12) > UsableBytes(device);
}

// Every strategy on every device, fastest first. Memory does not grow steadily with the micro-batch (with a
// single one, gradients live shorter), so that one that does not fit says nothing of the next.
Result<std::vector<Candidate>> Enumerate(const PlanRequest& request) {
  std::vector<Candidate> candidates;
  if (request.model.num_hidden_layers > kMaxTableLayers) {
    ModelSpec shallow = request.model;  // whether anything but its depth is too much
    shallow.num_hidden_layers = 1;
    TRAIND_TRY(BuildTrainingTable(shallow, request.training, {}, {}).status());
    return candidates;
  }
  const std::vector<Strategy> strategies = StrategiesOf(request);
  for (const DeviceSpec& device : request.devices) {
    for (const Strategy& strategy : strategies) {
      TRAIND_ASSIGN(Candidate candidate, CandidateOf(request, device, strategy));
      candidates.push_back(std::move(candidate));
      if (Hopeless(request, device)) break;
    }
  }
  std::ranges::stable_sort(candidates, {},
                           [](const Candidate& candidate) { return candidate.plan.step_seconds; });
  return candidates;
}

// The strategy for one device, or nullptr if none fits: of those within kWorthwhile of the best that
// recompute no more and no less, the one with the least memory. So nothing is recomputed where memory does
// not ask for it. They are compared by nominal times, not by rates that were measured under who knows what
// load: the same statement is to get the same micro-batch, and so the same bits, each time it is planned.
const Candidate* BestOn(const std::vector<Candidate>& candidates, const DeviceSpec& device) {
  auto eligible = [&](const Candidate& candidate) {
    return candidate.plan.device == device && Fits(candidate.plan);
  };
  const Candidate* fastest = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!eligible(candidate)) continue;
    if (fastest == nullptr || candidate.nominal_seconds < fastest->nominal_seconds) fastest = &candidate;
  }
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!eligible(candidate) || candidate.nominal_seconds > fastest->nominal_seconds * (1 + kWorthwhile) ||
        candidate.plan.strategy.recompute != fastest->plan.strategy.recompute) {
      continue;
    }
    const bool less =
        best == nullptr || candidate.plan.predicted_peak_bytes < best->plan.predicted_peak_bytes;
    if (less) best = &candidate;
  }
  return best;
}

// The fastest device's, by measured rates.
const Candidate* Choose(const std::vector<Candidate>& candidates, const std::vector<DeviceSpec>& devices) {
  const Candidate* chosen = nullptr;
  for (const DeviceSpec& device : devices) {
    const Candidate* best = BestOn(candidates, device);
    if (best == nullptr) continue;
    if (chosen == nullptr || best->plan.step_seconds < chosen->plan.step_seconds) chosen = best;
  }
  return chosen;
}

// The chosen plan with room for a whole snapshot, where that fits too: its steps are the same.
Result<Plan> WithSnapshot(const PlanRequest& request, const Plan& plan) {
  Strategy strategy = plan.strategy;
  strategy.snapshot = true;
  TRAIND_ASSIGN(Candidate larger, CandidateOf(request, plan.device, strategy));
  return Fits(larger.plan) ? std::move(larger.plan) : plan;
}

std::string WhyNot(const Candidate& candidate, const Candidate& chosen) {
  const Plan& plan = candidate.plan;
  auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  if (plan.predicted_peak_bytes == kTooLarge) return "does not fit: needs more memory than can be counted";
  if (!Fits(plan)) {
    return "does not fit: needs " + bytes(plan.predicted_peak_bytes) + ", " +
           bytes(plan.predicted_peak_bytes - UsableBytes(plan.device)) + " more than may be used";
  }
  if (plan.step_seconds > chosen.plan.step_seconds || candidate.nominal_seconds > chosen.nominal_seconds) {
    return "slower: " + FormatDuration(plan.step_seconds) + " a step instead of " +
           FormatDuration(chosen.plan.step_seconds);
  }
  return "needs " + bytes(plan.predicted_peak_bytes - chosen.plan.predicted_peak_bytes) +
         " more memory and is less than 2 % faster";
}

std::vector<RejectedPlan> Rejected(const std::vector<Candidate>& candidates, const Candidate& chosen) {
  std::vector<RejectedPlan> rejected;
  for (const Candidate& candidate : candidates) {
    if (&candidate == &chosen || rejected.size() == kMostRejected) continue;
    const Plan& plan = candidate.plan;
    rejected.push_back({plan.strategy, DeviceName(plan.device), WhyNot(candidate, chosen),
                        plan.predicted_peak_bytes, plan.step_seconds});
  }
  return rejected;
}

// Without those that do not compute in that precision.
Status KeepDevicesOf(Precision precision, std::vector<DeviceSpec>* devices) {
  if (precision == Precision::kFp32 || devices->empty()) return Ok();
  const std::string first = DeviceName(devices->front());
  std::erase_if(*devices, [](const DeviceSpec& device) { return device.bf16_flops_per_second <= 0; });
  if (!devices->empty()) return Ok();
  return Status(ErrorCode::UNKNOWN_PRECISION, first + " does not compute in bf16 natively",
                "precision=fp32 is faster there");
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

Result<PlanChoice> PlanTraining(const PlanRequest& asked) {
  TRAIND_TRY(ValidateModel(asked.model));
  TRAIND_TRY(ValidateTraining(asked.training));
  PlanRequest request = asked;
  TRAIND_TRY(KeepDevicesOf(request.training.precision, &request.devices));
  TRAIND_ASSIGN(const std::vector<Candidate> candidates, Enumerate(request));
  const Candidate* chosen = Choose(candidates, request.devices);
  if (chosen == nullptr) return RefuseMemory(request, candidates);
  PlanChoice choice;
  TRAIND_ASSIGN(choice.plan, WithSnapshot(request, chosen->plan));
  choice.rejected = Rejected(candidates, *chosen);
  choice.plan.hash = PlanHash(request.model, request.training, choice.plan.strategy, choice.plan.device);
  TRAIND_TRY(LayOut(request, &choice));
  return choice;
}

namespace {

Result<Plan> ForwardPlan(const MemoryTable& table, const DeviceSpec& device, InstructionKind kind) {
  Plan plan;
  plan.strategy.micro_batch = table.sequences;
  plan.device = device;
  AddMemory(table, InferenceProcess(device, table), &plan);
  plan.step_seconds = plan.compute_seconds = InstructionSeconds(table, kind, device);
  plan.start_seconds = StartSeconds(plan.arena_bytes, table.parameter_elements);
  if (!Fits(plan)) return RefuseInference(plan, table.parameter_elements);
  return plan;
}

}  // namespace

Result<Plan> PlanInference(const ModelSpec& model, const DeviceSpec& device, int64_t sequence_length,
                           int64_t sequences) {
  TRAIND_TRY(ValidateModel(model));
  TableOptions options;
  options.threads = device.threads;
  TRAIND_ASSIGN(const MemoryTable table, BuildInferenceTable(model, sequences, sequence_length, options));
  return ForwardPlan(table, device, InstructionKind::kValidate);
}

Result<Plan> PlanGeneration(const ModelSpec& model, const DeviceSpec& device, int64_t context) {
  TRAIND_TRY(ValidateModel(model));
  TableOptions options;
  options.threads = device.threads;
  TRAIND_ASSIGN(const MemoryTable table, BuildGenerationTable(model, context, options));
  return ForwardPlan(table, device, InstructionKind::kPredict);
}

}  // namespace traind::plan
