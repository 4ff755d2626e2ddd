// Puts the programs of a model together into its memory table.
#include "engine/plan/memory.h"

#include <algorithm>

#include "engine/plan/decoder_program.h"
#include "engine/plan/saturating.h"
#include "engine/plan/table_builder.h"
#include "engine/tensor/tensor.h"

namespace traind::plan {
namespace {

Status Refuse(std::string_view option, int64_t value, std::string_view what, int64_t most) {
  return Status(ErrorCode::INVALID_OPTION, std::string(option) + " is " + std::to_string(value) +
                                               ", more than the " + std::to_string(most) + std::string(what));
}

// What the programs and operators can do, beyond what a specification may say.
Status CheckModel(const ModelSpec& model, int64_t sequence_length) {
  if (model.num_hidden_layers > kMaxTableLayers) {
    return Refuse("num_hidden_layers", model.num_hidden_layers, " layers that a plan can hold",
                  kMaxTableLayers)
        .With("{\"option\":\"num_hidden_layers\"}");
  }
  if (model.head_size() > kMaxHeadSize) {
    return Refuse("hidden_size / num_attention_heads", model.head_size(),
                  " that attention computes; use more heads", kMaxHeadSize)
        .With("{\"option\":\"num_attention_heads\"}");
  }
  if (model.traits().learned_positions && sequence_length > model.max_position_embeddings) {
    return Refuse("sequence_length", sequence_length, " positions that the model has",
                  model.max_position_embeddings)
        .With("{\"option\":\"sequence_length\"}");
  }
  return Ok();
}

MemoryTable EmptyTable(const DecoderSizes& sizes, int64_t micro_batches) {
  MemoryTable table;
  table.model = sizes.model;
  table.sequences = sizes.sequences;
  table.sequence_length = sizes.sequence_length;
  table.micro_batches = micro_batches;
  table.threads = sizes.threads;
  table.context = sizes.context;
  table.parameters = ParameterTable(sizes.model);
  table.parameter_elements = LayoutOf(sizes.model).total;
  return table;
}

}  // namespace

std::string_view SlotClassName(SlotClass slot_class) {
  static constexpr std::string_view kNames[kSlotClasses] = {
      "weights",   "gradients", "master", "moments", "activations", "logits",
      "workspace", "tables",    "data",   "cache",   "host staging"};
  return kNames[static_cast<int>(slot_class)];
}

const Slot* MemoryTable::FindSlot(std::string_view name) const {
  auto found = std::ranges::find(slots, name, &Slot::name);
  return found == slots.end() ? nullptr : &*found;
}

const Program* MemoryTable::FindProgram(InstructionKind kind) const {
  auto found = std::ranges::find(programs, kind, &Program::kind);
  return found == programs.end() ? nullptr : &*found;
}

Result<MemoryTable> BuildTrainingTable(const ModelSpec& model, const TrainingSpec& training,
                                       const Strategy& strategy, const TableOptions& options) {
  TRAIND_TRY(CheckModel(model, training.sequence_length));
  DecoderSizes sizes{model, strategy.micro_batch, training.sequence_length, options.threads};
  sizes.recompute = strategy.recompute;
  sizes.trains = true;
  sizes.type = training.precision == Precision::kBf16 ? DType::kBFloat16 : DType::kFloat32;
  MemoryTable table = EmptyTable(sizes, strategy.micro_batches);
  const std::vector<Parameter> parameters = table.parameters;
  TableBuilder builder(std::move(table));
  DecoderProgram program(sizes, &builder);
  program.AddTrainingState();
  if (strategy.snapshot) {
    builder.AddSlot(std::string(kSnapshotSlot), SlotClass::kHostStaging,
                    SaturatingMultiply(LayoutOf(model).total, 12), Span::kAlways);
  }
  builder.Begin(InstructionKind::kForward);
  program.Forward("");
  builder.Begin(InstructionKind::kLoss);
  program.Loss();
  program.Backward(options.backward);
  builder.Begin(InstructionKind::kNorm);
  program.SquareNorm();
  builder.Begin(InstructionKind::kOptimize);
  program.Optimize(parameters);
  if (options.validates) {
    builder.Begin(InstructionKind::kValidate);
    program.Forward("validate.");
    program.LossOnly();
  }
  builder.Begin(InstructionKind::kSnapshot);
  builder.LiveDuringProgram(
      builder.AddSlot(std::string(kStagingSlot), SlotClass::kHostStaging, kStagingBytes));
  return builder.Finish(options.reuse);
}

Result<MemoryTable> BuildInferenceTable(const ModelSpec& model, int64_t sequences, int64_t sequence_length,
                                        const TableOptions& options) {
  TRAIND_TRY(CheckModel(model, sequence_length));
  const DecoderSizes sizes{model, sequences, sequence_length, options.threads};
  TableBuilder builder(EmptyTable(sizes, 1));
  DecoderProgram program(sizes, &builder);
  builder.Begin(InstructionKind::kValidate);
  program.Forward("validate.");
  program.LossOnly();
  return builder.Finish(options.reuse);
}

Result<MemoryTable> BuildGenerationTable(const ModelSpec& model, int64_t context,
                                         const TableOptions& options) {
  TRAIND_TRY(CheckModel(model, context));
  const DecoderSizes sizes{.model = model,
                           .sequences = 1,
                           .sequence_length = std::min(context, kPredictTokens),
                           .threads = options.threads,
                           .context = context};
  TableBuilder builder(EmptyTable(sizes, 1));
  DecoderProgram program(sizes, &builder);
  builder.Begin(InstructionKind::kPredict);
  program.Predict("predict.");
  return builder.Finish(options.reuse);
}

std::vector<ClassTotal> PeakByClass(const MemoryTable& table) {
  int64_t totals[kSlotClasses] = {};
  int64_t sum = 0;
  for (const Slot& slot : table.slots) {
    if (slot.first_tick > table.peak_tick || slot.last_tick < table.peak_tick) continue;
    int64_t& total = totals[static_cast<int>(slot.slot_class)];
    total = SaturatingAdd(total, RoundUp(slot.bytes, kSlotAlignment));
    sum = SaturatingAdd(sum, RoundUp(slot.bytes, kSlotAlignment));
  }
  std::vector<ClassTotal> rows;
  for (int i = 0; i < kSlotClasses; ++i) {
    if (totals[i] > 0) rows.push_back({std::string(SlotClassName(static_cast<SlotClass>(i))), totals[i]});
  }
  if (table.arena_bytes > sum) rows.push_back({"fragmentation", table.arena_bytes - sum});
  return rows;
}

std::vector<int64_t> LiveByProgram(const MemoryTable& table) {
  std::vector<int64_t> change(static_cast<size_t>(table.ticks) + 1);
  for (const Slot& slot : table.slots) {
    change[static_cast<size_t>(slot.first_tick)] += RoundUp(slot.bytes, kSlotAlignment);
    change[static_cast<size_t>(slot.last_tick) + 1] -= RoundUp(slot.bytes, kSlotAlignment);
  }
  std::vector<int64_t> most;
  int64_t live = 0;
  size_t tick = 0;
  for (const Program& program : table.programs) {
    most.push_back(0);
    for (int64_t i = 0; i < program.ticks(); ++i) {
      live += change[tick++];
      most.back() = std::max(most.back(), live);
    }
  }
  return most;
}

}  // namespace traind::plan
