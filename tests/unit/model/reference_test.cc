// The whole model in fp64: its gradient against finite differences, and the fp32 model against it.
//
// Two layers of each family, grouped queries, tied and untied head, joint and split backward pass, one and
// several micro-batches: the same operator programs that train.
#include <cmath>
#include <vector>

#include "engine/model/initialize.h"
#include "tests/support/reference_model.h"
#include "tests/support/test.h"
#include "tests/support/values.h"
#include "tests/unit/model/model_fixture.h"

namespace traind::model {
namespace {

using reference::ReferenceModel;
using reference::Values;

struct Variant {
  Architecture architecture;
  bool tied;
  plan::BackwardForm form;
  int64_t micro_batches;
};
constexpr auto kLlama = Architecture::kLlama, kGpt2 = Architecture::kGpt2, kQwen2 = Architecture::kQwen2;
constexpr auto kJoint = plan::BackwardForm::kJoint, kSplit = plan::BackwardForm::kSplit;
constexpr Variant kVariants[] = {
    {kLlama, false, kJoint, 1}, {kLlama, true, kJoint, 1},  {kLlama, false, kJoint, 2},
    {kLlama, true, kJoint, 3},  {kLlama, false, kSplit, 1}, {kLlama, true, kSplit, 2},
    {kGpt2, true, kJoint, 1},   {kGpt2, true, kJoint, 2},   {kGpt2, false, kJoint, 1},
    {kGpt2, true, kSplit, 2},   {kQwen2, true, kJoint, 2},  {kQwen2, false, kSplit, 1},
};
constexpr int64_t kLength = 9;
constexpr int64_t kMicroBatch = 2;

ModelSpec Tiny(const Variant& variant) {
  ModelSpec model;
  model.architecture = variant.architecture;
  model.hidden_size = 16;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 4;
  model.num_key_value_heads = model.traits().grouped_queries ? 2 : 4;
  model.intermediate_size = 24;
  model.vocab_size = 19;
  model.max_position_embeddings = kLength + 2;
  model.initializer_range = 0.3;  // far from the flat start, so that every path carries gradient
  model.tie_word_embeddings = variant.tied;
  return model;
}

plan::MemoryTable TableOf(const Variant& variant) {
  TrainingSpec training;
  training.sequence_length = kLength;
  training.batch_tokens = kLength * kMicroBatch * variant.micro_batches;
  plan::TableOptions options;
  options.backward = variant.form;
  Result<plan::MemoryTable> table =
      plan::BuildTrainingTable(Tiny(variant), training, {kMicroBatch, variant.micro_batches}, options);
  assert_ok(table);
  return *std::move(table);
}

std::vector<int32_t> TokensOf(int64_t micro_batch, bool target) {
  return testing::RandomTokens(kLength * kMicroBatch, 19,
                               static_cast<uint64_t>(2 * micro_batch + (target ? 1 : 0)));
}

std::vector<plan::Instruction> StepOf(const Variant& variant) {
  std::vector<plan::Instruction> list =
      plan::GenerateStep({kMicroBatch, variant.micro_batches}, variant.form);
  list.resize(list.size() - 2);  // without norm and optimize
  return list;
}

// The mean loss of a step; gradients are left in the model.
double RunStep(const Variant& variant, ReferenceModel& model) {
  for (const plan::Instruction& instruction : StepOf(variant)) {
    if (instruction.kind == plan::InstructionKind::kForward) {
      model.tokens() = TokensOf(instruction.micro_batch, false);
      model.targets() = TokensOf(instruction.micro_batch, true);
    }
    model.Run(instruction);
  }
  return model.TakeLoss() / static_cast<double>(kLength * kMicroBatch * variant.micro_batches);
}

// Norms too are away from their start.
void SetWeights(Values& weights) {
  weights = testing::RandomValues(static_cast<int64_t>(weights.size()), 42, 0.3);
}

// Along a random direction within each tensor, which every element of its gradient takes part in.
void GradientIsThatOfFiniteDifferences(void**) {
  for (const Variant& variant : kVariants) {
    ReferenceModel model(TableOf(variant));
    SetWeights(model.weights());
    const Values at = model.weights();
    RunStep(variant, model);
    const Values gradient = model.gradients();
    for (const plan::Parameter& parameter : model.table().parameters) {
      const Values direction = testing::RandomValues(parameter.elements, 7, 1);
      constexpr double kStep = 1e-5;
      double losses[2], along = 0;
      for (int side = 0; side < 2; ++side) {
        model.weights() = at;
        for (size_t i = 0; i < direction.size(); ++i) {
          model.weights()[static_cast<size_t>(parameter.offset) + i] +=
              (side == 0 ? -kStep : kStep) * direction[i];
        }
        losses[side] = RunStep(variant, model);
      }
      for (size_t i = 0; i < direction.size(); ++i) {
        along += direction[i] * gradient[static_cast<size_t>(parameter.offset) + i];
      }
      const double measured = (losses[1] - losses[0]) / (2 * kStep);
      if (std::abs(measured - along) > 1e-7 * (std::abs(along) + 1)) {
        std::fprintf(stderr, "%s: gradient %.10g, measured %.10g\n", parameter.name.c_str(), along, measured);
        fail();
      }
    }
  }
}

double NormOf(const Values& values, const plan::Parameter& parameter) {
  double sum = 0;
  for (int64_t i = 0; i < parameter.elements; ++i) {
    const double value = values[static_cast<size_t>(parameter.offset + i)];
    sum += value * value;
  }
  return std::sqrt(sum);
}

void FloatModelAgrees(void**) {
  for (const Variant& variant : kVariants) {
    ReferenceModel exact(TableOf(variant));
    SetWeights(exact.weights());
    FixtureOptions options;
    options.sequence_length = kLength;
    options.backward = variant.form;
    ModelFixture fixture(Tiny(variant), {kMicroBatch, variant.micro_batches}, options);
    for (size_t i = 0; i < exact.weights().size(); ++i) {
      fixture.model->weights()[i] = static_cast<float>(exact.weights()[i]);
    }
    const double expected = RunStep(variant, exact);
    for (const plan::Instruction& instruction : StepOf(variant)) {
      if (instruction.kind == plan::InstructionKind::kForward) {
        std::ranges::copy(TokensOf(instruction.micro_batch, false), fixture.model->tokens().begin());
        std::ranges::copy(TokensOf(instruction.micro_batch, true), fixture.model->targets().begin());
      }
      assert_ok(fixture.model->Run(instruction));
    }
    assert_true(std::abs(fixture.model->TakeLoss().mean() / expected - 1) < 1e-6);
    Values difference = exact.gradients();
    for (size_t i = 0; i < difference.size(); ++i)
      difference[i] -= static_cast<double>(fixture.model->gradients()[i]);
    plan::Parameter all;
    all.elements = exact.table().parameter_elements;
    for (const plan::Parameter& parameter : exact.table().parameters) {
      const double bound =
          1e-5 * NormOf(exact.gradients(), parameter) + 1e-7 * NormOf(exact.gradients(), all);
      if (NormOf(difference, parameter) > bound) {
        std::fprintf(stderr, "%s differs by %g, bound %g\n", parameter.name.c_str(),
                     NormOf(difference, parameter), bound);
        fail();
      }
    }
  }
}

}  // namespace
}  // namespace traind::model

int main() {
  using namespace traind::model;
  const CMUnitTest tests[] = {
      cmocka_unit_test(GradientIsThatOfFiniteDifferences),
      cmocka_unit_test(FloatModelAgrees),
  };
  return cmocka_run_group_tests_name("reference", tests, nullptr, nullptr);
}
