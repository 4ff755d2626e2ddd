// Puts a number to each candidate.
#include "engine/plan/candidates.h"

#include <algorithm>

#include "engine/plan/cost.h"
#include "engine/plan/memory.h"
#include "engine/plan/process_memory.h"
#include "engine/plan/saturating.h"
#include "engine/tensor/tensor.h"

namespace traind::plan {
namespace {

TableOptions OptionsOf(const PlanRequest& request, const DeviceSpec& device) {
  TableOptions options;
  options.threads = device.threads;
  options.validates = request.validates;
  return options;
}

// The device as its kind promises, whatever was measured.
DeviceSpec Nominal(DeviceSpec device) {
  constexpr double kFlopsPerThread = 2e11;
  constexpr double kBytesPerThread = 1.5e10;
  const double width = device.instruction_set == "avx512" ? 1 : device.instruction_set == "avx2" ? 0.5 : 0.05;
  const auto threads = static_cast<double>(device.threads);
  device.matmul_flops_per_second = kFlopsPerThread * width * threads;
  if (device.bf16_flops_per_second > 0) device.bf16_flops_per_second = 2 * device.matmul_flops_per_second;
  device.memory_bytes_per_second = kBytesPerThread * threads;
  return device;
}

// All of the validation data; before it is tokenised, a guess that EXPLAIN marks as such.
double ValidationSeconds(const PlanRequest& request, const MemoryTable& table, const DeviceSpec& device) {
  if (!request.validates) return 0;
  constexpr int64_t kGuessedTokens = 64 << 10;
  const auto tokens = static_cast<double>(request.validation_tokens.value_or(kGuessedTokens));
  const double rows = static_cast<double>(table.sequences) * static_cast<double>(table.sequence_length);
  return InstructionSeconds(table, InstructionKind::kValidate, device) * std::max(1.0, tokens / rows);
}

}  // namespace

int64_t ReserveBytes(const DeviceSpec& device) {
  return (int64_t{64} << 20) + device.memory_bytes / 64;
}

int64_t UsableBytes(const DeviceSpec& device) {
  return std::max<int64_t>(0, device.free_bytes - ReserveBytes(device));
}

void AddMemory(const MemoryTable& table, std::vector<ClassBytes> process, Plan* plan) {
  plan->arena_bytes = RoundUp(table.arena_bytes, kArenaGranularity);
  for (ClassTotal& total : PeakByClass(table)) plan->memory.push_back({std::move(total.name), total.bytes});
  if (plan->arena_bytes > table.arena_bytes) {
    plan->memory.push_back({"rounding", plan->arena_bytes - table.arena_bytes});
  }
  for (ClassBytes& term : process) plan->memory.push_back(std::move(term));
  for (const ClassBytes& term : plan->memory) {
    plan->predicted_peak_bytes = SaturatingAdd(plan->predicted_peak_bytes, term.bytes);
  }
  if (table.arena_bytes == kTooLarge) plan->predicted_peak_bytes = kTooLarge;
}

Result<Candidate> CandidateOf(const PlanRequest& request, const DeviceSpec& device,
                              const Strategy& strategy) {
  TRAIND_ASSIGN(const MemoryTable table,
                BuildTrainingTable(request.model, request.training, strategy, OptionsOf(request, device)));
  Candidate candidate;
  candidate.nominal_seconds = StepSeconds(table, Nominal(device));
  Plan& plan = candidate.plan;
  plan.strategy = strategy;
  plan.device = device;
  AddMemory(table, TrainingProcess(request, device, table), &plan);
  plan.compute_seconds = StepSeconds(table, device);
  plan.step_seconds = plan.compute_seconds;
  plan.validation_seconds = ValidationSeconds(request, table, device);
  plan.checkpoint_bytes = CheckpointBytes(table.parameter_elements);
  plan.checkpoint_seconds = CheckpointSeconds(plan.checkpoint_bytes);
  if (!strategy.snapshot) {  // the state must be taken before the step's update
    plan.checkpoint_stall_seconds = std::max(0.0, plan.checkpoint_seconds - plan.step_seconds);
  }
  plan.start_seconds = StartSeconds(plan.arena_bytes, table.parameter_elements);
  // Those that are kept, the best among them, one that is being written, and the version that success
  // publishes.
  const int64_t others = request.validates ? 2 : 1;
  plan.disk_bytes = SaturatingAdd(
      SaturatingMultiply(plan.checkpoint_bytes, SaturatingAdd(request.training.keep_checkpoints, others)),
      VersionBytes(table.parameter_elements));
  return candidate;
}

std::vector<Strategy> Strategies(const TrainingSpec& training) {
  const int64_t sequences = training.sequences_per_batch();
  const int64_t most = std::max<int64_t>(1, kMaxMicroBatchTokens / training.sequence_length);
  std::vector<Strategy> strategies;
  for (int64_t micro_batch = 1; micro_batch <= std::min(sequences, most); ++micro_batch) {
    if (sequences % micro_batch != 0) continue;
    for (const Recompute recompute : {Recompute::kFull, Recompute::kSelective, Recompute::kNone}) {
      strategies.push_back({micro_batch, sequences / micro_batch, kGradientAccumulation, recompute});
    }
  }
  return strategies;
}

int64_t ArenaBytes(const ModelSpec& model, const TrainingSpec& training, const Strategy& strategy,
                   const TableOptions& options) {
  auto table_of = [&](int64_t layers) {
    ModelSpec sized = model;
    sized.num_hidden_layers = layers;
    return BuildTrainingTable(sized, training, strategy, options);
  };
  constexpr int64_t kDeep = 64;  // deep enough that one layer's temporaries matter no more
  if (model.num_hidden_layers <= kDeep) {
    const Result<MemoryTable> table = table_of(model.num_hidden_layers);
    return table.ok() ? table->arena_bytes : kTooLarge;
  }
  const Result<MemoryTable> deep = table_of(kDeep), deeper = table_of(kDeep + 1);
  if (!deep.ok() || !deeper.ok() || deeper->arena_bytes == kTooLarge) return kTooLarge;
  const std::vector<int64_t> live = LiveByProgram(*deep), next = LiveByProgram(*deeper);
  int64_t most = 0;
  for (size_t program = 0; program < live.size(); ++program) {
    const int64_t more = SaturatingMultiply(next[program] - live[program], model.num_hidden_layers - kDeep);
    most = std::max(most, SaturatingAdd(live[program], more));
  }
  return most;
}

}  // namespace traind::plan
