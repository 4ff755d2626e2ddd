// Runs programs: looks slots up, walks calls, keeps sums.
#include "engine/model/model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/model/execute.h"
#include "engine/model/initialize.h"
#include "engine/model/lifetimes.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/rope.h"
#include "engine/tensor/tensor.h"

namespace traind::model {
namespace {

using plan::InstructionKind;

ops::RopeFrequencies FrequenciesOf(const ModelSpec& model) {
  ops::RopeFrequencies frequencies;
  frequencies.theta = model.rope_theta;
  frequencies.factor = model.rope_scaling_factor;
  frequencies.low = model.rope_low_freq_factor;
  frequencies.high = model.rope_high_freq_factor;
  frequencies.original = static_cast<double>(model.rope_original_max_position_embeddings);
  if (model.rope_scaling == RopeScaling::kLinear) frequencies.stretch = ops::RopeStretch::kLinear;
  if (model.rope_scaling == RopeScaling::kLlama3) frequencies.stretch = ops::RopeStretch::kLlama3;
  return frequencies;
}

Status CheckBinding(const plan::MemoryTable& table, std::span<std::byte> arena, const ops::Context& context) {
  if (static_cast<int64_t>(arena.size()) < table.arena_bytes) {
    return Status(ErrorCode::INTERNAL, "an arena of " + std::to_string(arena.size()) +
                                           " bytes cannot hold a table of " +
                                           std::to_string(table.arena_bytes));
  }
  if (reinterpret_cast<uintptr_t>(arena.data()) % kSlotAlignment != 0) {
    return Status(ErrorCode::INTERNAL,
                  "the arena is not aligned to " + std::to_string(kSlotAlignment) + " bytes");
  }
  if (table.threads < context.threads()) {
    return Status(ErrorCode::INTERNAL, "the table has workspace for " + std::to_string(table.threads) +
                                           " threads, the device has " + std::to_string(context.threads()));
  }
  return Ok();
}

}  // namespace

Result<std::unique_ptr<Model>> Model::Create(plan::MemoryTable table, std::span<std::byte> arena,
                                             ops::Context& context, const ModelOptions& options) {
  TRAIND_TRY(CheckBinding(table, arena, context));
  std::unique_ptr<Model> model(new Model(std::move(table), arena.data(), context));
  TRAIND_TRY(model->FillTables());
  TRAIND_TRY(model->PrepareProducts());
  if (options.poison) model->guard_ = std::make_unique<LifetimeGuard>(model->table_, model->arena_);
  return model;
}

Model::Model(plan::MemoryTable table, std::byte* arena, ops::Context& context)
    : table_(std::move(table)), arena_(arena), context_(context) {}

Model::~Model() = default;

Status Model::FillTables() {
  if (table_.FindSlot(plan::kRopeSlot) == nullptr) return Ok();
  return ops::RopeTable(std::max(table_.sequence_length, table_.context), table_.model.head_size(),
                        FrequenciesOf(table_.model), Floats(plan::kRopeSlot).data());
}

// A product is prepared by being computed: on whatever its operands hold, into slots that mean nothing yet.
// The gradient of a weight is written by the first micro-batch and added to by the others.
Status Model::PrepareProducts() {
  Execution run{context_, table_, arena_};
  run.sequences = table_.sequences;
  run.sequence_length = table_.sequence_length;
  std::vector<std::pair<plan::Pass, plan::OpDimensions>> prepared;
  for (const plan::Program& program : table_.programs) {
    if (program.kind == InstructionKind::kPredict) continue;  // its shapes change with every token
    for (const plan::OpCall& call : program.calls) {
      if (call.kind != plan::OpKind::kLinear) continue;
      const std::pair product(call.pass, call.dimensions);
      if (std::ranges::find(prepared, product) != prepared.end()) continue;
      TRAIND_TRY(Execute(call, &run));
      if (call.pass == plan::Pass::kBackwardWeight && table_.micro_batches > 1) {
        run.first_micro_batch = false;
        TRAIND_TRY(Execute(call, &run));
        run.first_micro_batch = true;
      }
      prepared.push_back(product);
    }
  }
  return Ok();
}

void Model::Initialize(int64_t seed) {
  const double layers = static_cast<double>(table_.model.num_hidden_layers);
  for (const plan::Parameter& parameter : table_.parameters) {
    double deviation = table_.model.initializer_range;
    if (parameter.initializer == plan::Initializer::kNormalResidual) deviation /= std::sqrt(2 * layers);
    InitializeParameter(parameter, seed, deviation, Part(weights(), parameter));
  }
  std::ranges::fill(moment_1(), 0.0F);
  std::ranges::fill(moment_2(), 0.0F);
}

std::span<std::byte> Model::Bytes(std::string_view name) {
  const plan::Slot* slot = table_.FindSlot(name);
  if (slot == nullptr) return {};
  return {arena_ + slot->offset, static_cast<size_t>(slot->bytes)};
}

std::span<float> Model::Floats(std::string_view name) {
  const std::span<std::byte> bytes = Bytes(name);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<int32_t> Model::Ints(std::string_view name) {
  const std::span<std::byte> bytes = Bytes(name);
  return {reinterpret_cast<int32_t*>(bytes.data()), bytes.size() / sizeof(int32_t)};
}

std::span<float> Model::Part(std::span<float> flat, const plan::Parameter& parameter) const {
  if (flat.empty()) return {};
  return flat.subspan(static_cast<size_t>(parameter.offset), static_cast<size_t>(parameter.elements));
}

std::span<std::byte> Model::staging() {
  if (guard_ != nullptr) {
    const plan::Program* snapshot = table_.FindProgram(InstructionKind::kSnapshot);
    guard_->Reset();
    if (snapshot != nullptr) guard_->Before(snapshot->first_tick);
  }
  return Bytes(plan::kStagingSlot);
}

Status Model::Run(const plan::Instruction& instruction) {
  if (instruction.kind == InstructionKind::kOptimize || instruction.kind == InstructionKind::kPredict) {
    return Status(ErrorCode::INTERNAL, plan::InstructionText(instruction) + " has a call of its own");
  }
  return RunProgram(instruction, {table_.sequences, table_.sequence_length}, nullptr);
}

Status Model::Optimize(const ops::AdamwSettings& settings) {
  return RunProgram({InstructionKind::kOptimize}, {table_.sequences, table_.sequence_length}, &settings);
}

Status Model::Validate(int64_t sequences) {
  if (sequences < 1 || sequences > table_.sequences) {
    return Status(ErrorCode::INTERNAL, "validation of " + std::to_string(sequences) + " sequences where " +
                                           std::to_string(table_.sequences) + " fit");
  }
  return RunProgram({InstructionKind::kValidate}, {sequences, table_.sequence_length}, nullptr);
}

Result<std::span<const float>> Model::Predict(std::span<const int32_t> tokens, int64_t first_position) {
  const int64_t count = std::ssize(tokens);
  if (count < 1 || count > table_.sequence_length || first_position < 0 ||
      first_position > table_.context - count) {
    return Status(ErrorCode::INTERNAL, std::to_string(count) + " tokens from position " +
                                           std::to_string(first_position) + " where " +
                                           std::to_string(table_.sequence_length) + " at once and " +
                                           std::to_string(table_.context) + " in all fit");
  }
  std::ranges::copy(tokens, this->tokens().begin());
  first_position_ = first_position;
  TRAIND_TRY(RunProgram({InstructionKind::kPredict}, {1, count}, nullptr));
  return std::span<const float>(Floats(plan::kNextLogitsSlot));
}

LossSum Model::TakeLoss() {
  const LossSum taken = loss_;
  loss_ = {};
  return taken;
}

Status Model::RoundWeights() {
  const std::span<std::byte> rounded = Bytes(plan::kRoundedWeightsSlot);
  const bool shown = std::exchange(weights_shown_, false);
  if (rounded.empty() || !shown) return Ok();
  const std::span<const float> master = Floats(plan::kWeightsSlot);
  return ops::Round(context_, static_cast<int64_t>(master.size()), master.data(),
                    reinterpret_cast<Bfloat16*>(rounded.data()));
}

Status Model::RunProgram(const plan::Instruction& instruction, ActiveRows rows,
                         const ops::AdamwSettings* update) {
  const plan::Program* program = table_.FindProgram(instruction.kind);
  if (program == nullptr) {
    return Status(ErrorCode::INTERNAL,
                  "the memory table has no program for " + plan::InstructionText(instruction));
  }
  const int64_t step_tokens = table_.micro_batches * table_.sequences * table_.sequence_length;
  TRAIND_TRY(RoundWeights());
  Execution run{context_, table_, arena_};
  run.first_micro_batch = instruction.micro_batch == 0;
  run.sequences = rows.sequences;
  run.sequence_length = rows.sequence_length;
  const bool predicts = instruction.kind == InstructionKind::kPredict;
  run.last_row = rows.sequence_length - 1;
  run.first_position = predicts ? first_position_ : 0;
  run.gradient_scale = static_cast<float>(1.0 / static_cast<double>(step_tokens));
  run.update = update;
  if (guard_ != nullptr && BeginsAnew(instruction)) guard_->Reset();
  for (size_t i = 0; i < program->calls.size(); ++i) {
    const int64_t tick = program->first_tick + static_cast<int64_t>(i);
    if (guard_ != nullptr) guard_->Before(tick);
    TRAIND_TRY(Execute(program->calls[i], &run));
    if (guard_ != nullptr) guard_->After(tick);
    completed_operators_.fetch_add(1, std::memory_order_relaxed);
  }
  Account(instruction, run);
  return Ok();
}

// Whether nothing that lives across instructions is carried into this one.
bool Model::BeginsAnew(const plan::Instruction& instruction) {
  return (instruction.kind == InstructionKind::kForward && instruction.micro_batch == 0) ||
         instruction.kind == InstructionKind::kValidate || instruction.kind == InstructionKind::kPredict;
}

void Model::Account(const plan::Instruction& instruction, const Execution& run) {
  if (instruction.kind == InstructionKind::kLoss || instruction.kind == InstructionKind::kValidate) {
    loss_.sum += run.loss_sum;
    loss_.tokens += run.rows();
  }
  if (instruction.kind == InstructionKind::kNorm) square_norm_ = run.square_sum;
}

}  // namespace traind::model
