// Builds a model and runs its step.
#include "tests/bench/engine_step.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/base/clock.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/model/execute.h"
#include "engine/plan/cost.h"
#include "engine/plan/schedule.h"

namespace traind::bench {
namespace {

using plan::InstructionKind;

double Now() {
  return SystemClock().MonotonicSeconds();
}

ops::AdamwSettings Settings(int64_t step) {
  ops::AdamwSettings settings;
  settings.learning_rate = 3e-4;
  settings.weight_decay = 0.1;
  settings.step = step;
  return settings;
}

}  // namespace

ModelSpec BenchModel() {
  ModelSpec model;
  model.architecture = Architecture::kGpt2;
  model.hidden_size = 768;
  model.num_hidden_layers = 12;
  model.num_attention_heads = model.num_key_value_heads = 12;
  model.intermediate_size = 3072;
  model.vocab_size = 50257;
  model.max_position_embeddings = 1024;
  model.tie_word_embeddings = true;
  return model;
}

double StepFlops(const plan::MemoryTable& table) {
  double flops = 0;
  for (const plan::Program& program : table.programs) {
    if (program.kind == InstructionKind::kValidate || program.kind == InstructionKind::kPredict) continue;
    for (const plan::OpCall& call : program.calls) {
      const bool counts = call.kind == plan::OpKind::kLinear || call.kind == plan::OpKind::kAttention;
      if (counts) flops += plan::CostOf(call, {}).flops;
    }
  }
  return flops;
}

Result<std::unique_ptr<EngineStep>> EngineStep::Create(const StepShape& shape) {
  std::unique_ptr<EngineStep> step(new EngineStep());
  TRAIND_ASSIGN(step->device_, OpenCpuDevice({.threads = shape.threads, .instruction_set = {}}));
  TRAIND_ASSIGN(step->context_, ops::Context::Create(*step->device_));
  TrainingSpec training;
  training.sequence_length = shape.sequence_length;
  training.batch_tokens = shape.tokens();
  training.precision = shape.precision;
  plan::TableOptions options;
  options.threads = shape.threads;
  const plan::Strategy strategy{shape.sequences, 1};
  TRAIND_ASSIGN(plan::MemoryTable table, plan::BuildTrainingTable(shape.model, training, strategy, options));
  TRAIND_ASSIGN(step->arena_, step->device_->AllocateArena(table.arena_bytes));
  const std::span<std::byte> arena(step->arena_->data(), static_cast<size_t>(step->arena_->bytes()));
  TRAIND_ASSIGN(step->model_, model::Model::Create(std::move(table), arena, *step->context_));
  step->model_->Initialize(1);
  step->FillBatch();
  return step;
}

void EngineStep::FillBatch() {
  const auto vocabulary = static_cast<uint64_t>(model_->table().model.vocab_size);
  for (size_t i = 0; i < model_->tokens().size(); ++i) {
    model_->tokens()[i] = static_cast<int32_t>(i * 7919 % vocabulary);
    model_->targets()[i] = static_cast<int32_t>((i + 1) * 7919 % vocabulary);
  }
}

Result<double> EngineStep::Run() {
  const double begin = Now();
  for (const plan::Instruction& instruction : plan::GenerateStep({model_->table().sequences, 1})) {
    const bool optimizes = instruction.kind == InstructionKind::kOptimize;
    TRAIND_TRY(optimizes ? model_->Optimize(Settings(++steps_)) : model_->Run(instruction));
  }
  return Now() - begin;
}

Result<std::vector<OperatorTime>> EngineStep::Profile(int repetitions) {
  const plan::MemoryTable& table = model_->table();
  const ops::AdamwSettings settings = Settings(1);
  model::Execution run{*context_, table, arena_->data()};
  run.sequences = table.sequences;
  run.sequence_length = table.sequence_length;
  run.gradient_scale = 1.0F / static_cast<float>(table.sequences * table.sequence_length);
  run.update = &settings;
  std::vector<double> least;
  std::vector<const plan::OpCall*> calls;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    size_t at = 0;
    for (const plan::Program& program : table.programs) {
      for (const plan::OpCall& call : program.calls) {
        const double begin = Now();
        TRAIND_TRY(model::Execute(call, &run));
        const double seconds = Now() - begin;
        if (repetition == 0) calls.push_back(&call), least.push_back(seconds);
        least[at] = std::min(least[at], seconds);
        ++at;
      }
    }
  }
  std::map<std::tuple<plan::OpKind, plan::Pass, int64_t, int64_t>, OperatorTime> times;
  for (size_t i = 0; i < calls.size(); ++i) {
    const bool product = calls[i]->kind == plan::OpKind::kLinear;
    const int64_t input = product ? calls[i]->dimensions.input : 0;
    const int64_t output = product ? calls[i]->dimensions.output : 0;
    OperatorTime& time = times[{calls[i]->kind, calls[i]->pass, input, output}];
    const plan::OpCost cost = plan::CostOf(*calls[i], {});
    time.kind = calls[i]->kind;
    time.pass = calls[i]->pass;
    time.input = input;
    time.output = output;
    time.calls += 1;
    time.flops += cost.flops;
    time.bytes += cost.bytes;
    time.seconds += least[i];
  }
  std::vector<OperatorTime> rows;
  for (const auto& [key, time] : times) rows.push_back(time);
  return rows;
}

}  // namespace traind::bench
