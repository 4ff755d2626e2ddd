// Builds the fixture and drives its steps.
#include "tests/unit/model/model_fixture.h"

#include <cstdio>
#include <cstdlib>

namespace traind::model {
namespace {

void Must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "fixture: %s\n", status.ToString().c_str());
  std::abort();
}

template <typename T>
T Must(Result<T> result) {
  Must(result.status());
  return *std::move(result);
}

// Tokens that follow from each other, so that there is something to learn.
int32_t TokenAt(int64_t batch, int64_t sequence, int64_t position, int64_t vocabulary) {
  const int64_t mixed = (batch * 31 + sequence * 17 + position * (3 + sequence % 5)) % vocabulary;
  return static_cast<int32_t>(mixed);
}

}  // namespace

ModelFixture::ModelFixture(const ModelSpec& spec, const plan::Strategy& strategy,
                           const FixtureOptions& options)
    : strategy_(strategy), backward_(options.backward) {
  TrainingSpec training;
  training.sequence_length = options.sequence_length;
  training.precision = options.precision;
  training.batch_tokens = options.sequence_length * strategy.micro_batch * strategy.micro_batches;
  device = Must(OpenCpuDevice({.threads = options.threads, .instruction_set = {}}));
  context = Must(ops::Context::Create(*device));
  plan::TableOptions table_options;
  table_options.threads = context->threads();
  table_options.validates = options.validates;
  table_options.reuse = options.reuse;
  table_options.backward = options.backward;
  plan::MemoryTable table = Must(plan::BuildTrainingTable(spec, training, strategy, table_options));
  arena = Must(device->AllocateArena(table.arena_bytes));
  model = Must(Model::Create(std::move(table), {arena->data(), static_cast<size_t>(arena->bytes())}, *context,
                             {.poison = options.poison}));
}

ModelFixture::~ModelFixture() {
  model.reset();  // before its arena
}

void ModelFixture::Fill(int64_t batch, int64_t micro_batch) {
  const plan::MemoryTable& table = model->table();
  const int64_t length = table.sequence_length;
  for (int64_t sequence = 0; sequence < table.sequences; ++sequence) {
    const int64_t place = micro_batch * table.sequences + sequence;
    for (int64_t position = 0; position < length; ++position) {
      const auto at = static_cast<size_t>(sequence * length + position);
      model->tokens()[at] = TokenAt(batch, place, position, table.model.vocab_size);
      model->targets()[at] = TokenAt(batch, place, position + 1, table.model.vocab_size);
    }
  }
}

LossSum ModelFixture::Gradients(int64_t batch) {
  for (const plan::Instruction& instruction : plan::GenerateStep(strategy_, backward_)) {
    if (instruction.kind == plan::InstructionKind::kOptimize) break;
    if (instruction.kind == plan::InstructionKind::kForward) Fill(batch, instruction.micro_batch);
    Must(model->Run(instruction));
  }
  return model->TakeLoss();
}

LossSum ModelFixture::Step(int64_t step, double learning_rate, int64_t batch) {
  const LossSum loss = Gradients(batch);
  ops::AdamwSettings settings;
  settings.learning_rate = learning_rate;
  settings.step = step;
  Must(model->Optimize(settings));
  return loss;
}

}  // namespace traind::model
