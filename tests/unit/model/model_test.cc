// The model at work: initial weights, learning, accumulation, validation, prediction, refusals.
#include "engine/model/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/model/initialize.h"
#include "tests/support/test.h"
#include "tests/unit/model/model_fixture.h"

namespace traind::model {
namespace {

std::vector<float> Copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

double Norm(std::span<const float> values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

void InitialLossIsThatOfAGuess(void**) {
  for (const ModelSpec& spec : SmallModels()) {
    ModelFixture fixture(spec, {2, 2});
    fixture.model->Initialize(1);
    assert_true(std::abs(fixture.Step(1, 0, 0).mean() - std::log(256.0)) < 0.1);
  }
}

void LossFalls(void**) {
  for (const ModelSpec& spec : SmallModels()) {
    ModelFixture fixture(spec, {2, 2});
    fixture.model->Initialize(1);
    const double first = fixture.Step(1, 3e-3, 0).mean();
    double last = first;
    for (int64_t step = 2; step <= 60; ++step) last = fixture.Step(step, 3e-3, 0).mean();
    assert_true(last < first - 2);
  }
}

plan::Parameter Matrix(const char* name, int64_t elements) {
  plan::Parameter parameter;
  parameter.name = name;
  parameter.elements = elements;
  return parameter;
}

void InitialWeightsAreNormal(void**) {
  std::vector<float> weights(200000);
  InitializeParameter(Matrix("a", 200000), 5, 0.02, weights);
  double mean = 0, square = 0, fourth = 0;
  int64_t beyond = 0;
  for (float weight : weights) {
    const double z = weight / 0.02;
    mean += z, square += z * z, fourth += z * z * z * z;
    beyond += std::abs(z) > 3 ? 1 : 0;
  }
  const auto count = static_cast<double>(weights.size());
  assert_true(std::abs(mean / count) < 0.01);
  assert_true(std::abs(square / count - 1) < 0.02);
  assert_true(std::abs(fourth / count - 3) < 0.1);  // not uniform, not heavy-tailed
  assert_true(std::abs(static_cast<double>(beyond) / count - 0.0027) < 0.0006);
}

// A value depends on seed, name and place; not on how many there are.
void InitialWeightsDependOnWhatTheyShould(void**) {
  std::vector<float> base(1000), longer(1003), other_name(1000), other_seed(1000);
  InitializeParameter(Matrix("a", 1000), 5, 1, base);
  InitializeParameter(Matrix("a", 1003), 5, 1, longer);
  InitializeParameter(Matrix("b", 1000), 5, 1, other_name);
  InitializeParameter(Matrix("a", 1000), 6, 1, other_seed);
  assert_memory_equal(base.data(), longer.data(), 1000 * sizeof(float));
  int same = 0;
  for (size_t i = 0; i < 1000; ++i) same += (base[i] == other_name[i]) + (base[i] == other_seed[i]);
  assert_true(same < 3);
}

void InitialWeightsDoNotDependOnThreads(void**) {
  ModelFixture one(SmallLlama(), {2, 1}, {.threads = 1}), two(SmallLlama(), {2, 1}, {.threads = 2});
  one.model->Initialize(77);
  two.model->Initialize(77);
  assert_memory_equal(one.model->weights().data(), two.model->weights().data(),
                      one.model->weights().size_bytes());
}

void NormsBeginAsOnesBiasesAsZeros(void**) {
  for (const ModelSpec& spec : SmallModels()) {
    ModelFixture fixture(spec, {2, 1});
    fixture.model->Initialize(1);
    for (const plan::Parameter& parameter : fixture.model->table().parameters) {
      const std::span<float> part = fixture.model->Part(fixture.model->weights(), parameter);
      const auto all = [&](float wanted) {
        return std::ranges::all_of(part, [&](float value) { return value == wanted; });
      };
      const bool bias = parameter.name.ends_with(".bias");
      assert_int_equal(all(1), parameter.shape.size() == 1 && !bias);
      assert_int_equal(all(0), bias);
    }
  }
}

// gpt2's matrices that end in the residual stream are smaller, by the square root of how many there are.
void ResidualProjectionsBeginSmaller(void**) {
  ModelFixture fixture(SmallGpt2(), {1, 1});
  fixture.model->Initialize(3);
  for (const plan::Parameter& parameter : fixture.model->table().parameters) {
    if (parameter.shape.size() != 2) continue;
    const std::span<float> part = fixture.model->Part(fixture.model->weights(), parameter);
    const double deviation = Norm(part) / std::sqrt(static_cast<double>(part.size()));
    const double expected = parameter.name.ends_with("c_proj.weight") ? 0.01 : 0.02;
    assert_true(std::abs(deviation / expected - 1) < 0.05);
  }
}

// Every family with a head of its own and with a tied one.
std::vector<ModelSpec> TiedAndNot() {
  std::vector<ModelSpec> specs;
  for (ModelSpec spec : SmallModels()) {
    for (bool tied : {false, true}) {
      spec.tie_word_embeddings = tied;
      specs.push_back(spec);
    }
  }
  return specs;
}

// However a step is cut into micro-batches, its gradient is that of the mean loss over all its tokens.
void MicroBatchesAddUp(void**) {
  for (const ModelSpec& spec : TiedAndNot()) {
    std::vector<float> whole;
    double loss = 0;
    for (int64_t micro_batch : {12, 6, 4, 3, 2, 1}) {
      ModelFixture fixture(spec, {micro_batch, 12 / micro_batch});
      fixture.model->Initialize(4);
      const LossSum sum = fixture.Gradients(1);
      assert_int_equal(sum.tokens, 12 * 32);
      if (whole.empty()) {
        whole = Copy(fixture.model->gradients());
        loss = sum.mean();
        continue;
      }
      assert_true(std::abs(sum.mean() / loss - 1) < 1e-6);
      for (const plan::Parameter& parameter : fixture.model->table().parameters) {
        const std::span<float> part = fixture.model->Part(fixture.model->gradients(), parameter);
        const std::span<float> expected = fixture.model->Part(whole, parameter);
        std::vector<float> difference(part.size());
        for (size_t i = 0; i < part.size(); ++i) difference[i] = part[i] - expected[i];
        assert_true(Norm(difference) <= 1e-5 * Norm(expected) + 1e-7 * Norm(whole));
      }
    }
  }
}

void SplitBackwardGivesTheSameBits(void**) {
  for (const ModelSpec& spec : TiedAndNot()) {
    ModelFixture joint(spec, {2, 2}), split(spec, {2, 2}, {.backward = plan::BackwardForm::kSplit});
    joint.model->Initialize(4);
    split.model->Initialize(4);
    assert_true(joint.Gradients(1).sum == split.Gradients(1).sum);
    assert_memory_equal(joint.model->gradients().data(), split.model->gradients().data(),
                        joint.model->gradients().size_bytes());
  }
}

// Whatever is left or computed again, joint or split: losses, gradients and their norm are the same to the
// bit.
void RecomputingGivesTheSameBits(void**) {
  for (const ModelSpec& spec : TiedAndNot()) {
    plan::Strategy strategy{2, 2};
    ModelFixture none(spec, strategy);
    none.model->Initialize(4);
    const double loss = none.Gradients(1).sum;
    for (const plan::Recompute recompute : {plan::Recompute::kSelective, plan::Recompute::kFull}) {
      for (const plan::BackwardForm form : {plan::BackwardForm::kJoint, plan::BackwardForm::kSplit}) {
        strategy.recompute = recompute;
        ModelFixture again(spec, strategy, {.poison = true, .backward = form});
        again.model->Initialize(4);
        assert_true(again.Gradients(1).sum == loss);
        assert_true(again.model->square_norm() == none.model->square_norm());
        assert_memory_equal(none.model->gradients().data(), again.model->gradients().data(),
                            none.model->gradients().size_bytes());
      }
    }
  }
}

void SameRunSameBits(void**) {
  for (const ModelSpec& spec : SmallModels()) {
    std::vector<float> first;
    for (int run = 0; run < 2; ++run) {
      ModelFixture fixture(spec, {3, 2});
      fixture.model->Initialize(8);
      for (int64_t step = 1; step <= 10; ++step) (void)fixture.Step(step, 1e-3, step);
      if (run == 0) first = Copy(fixture.model->weights());
      if (run == 1)
        assert_memory_equal(first.data(), fixture.model->weights().data(), first.size() * sizeof(float));
    }
  }
}

void SquareNormIsThatOfAllGradients(void**) {
  ModelFixture fixture(SmallLlama(), {2, 2});
  fixture.model->Initialize(8);
  (void)fixture.Gradients(1);
  const double norm = Norm(fixture.model->gradients());
  assert_true(std::abs(std::sqrt(fixture.model->square_norm()) / norm - 1) < 1e-9);
}

// Norms and biases do not decay: with a gradient of nothing, only they stay.
void DecayLeavesNormsAlone(const ModelSpec& spec) {
  ModelFixture fixture(spec, {2, 1});
  fixture.model->Initialize(8);
  (void)fixture.Gradients(1);
  std::ranges::fill(fixture.model->gradients(), 0.0F);
  const std::vector<float> before = Copy(fixture.model->weights());
  ops::AdamwSettings settings;
  settings.learning_rate = 0.1;
  settings.weight_decay = 0.5;
  assert_ok(fixture.model->Optimize(settings));
  for (const plan::Parameter& parameter : fixture.model->table().parameters) {
    for (int64_t i = 0; i < parameter.elements; ++i) {
      const auto at = static_cast<size_t>(parameter.offset + i);
      const double expected = before[at] * (parameter.decays ? 0.95 : 1.0);
      assert_true(std::abs(fixture.model->weights()[at] - expected) <= 1e-6 * std::abs(expected));
    }
  }
}

void DecayLeavesNormsAlone(void**) {
  for (const ModelSpec& spec : SmallModels()) DecayLeavesNormsAlone(spec);
}

void ValidationIsTheLossAndNothingElse(const ModelSpec& spec) {
  ModelFixture fixture(spec, {3, 1});
  fixture.model->Initialize(8);
  const double loss = fixture.Gradients(1).sum;
  const std::vector<float> weights = Copy(fixture.model->weights());
  fixture.Fill(1, 0);
  assert_ok(fixture.model->Run({plan::InstructionKind::kValidate}));
  assert_true(fixture.model->TakeLoss().sum == loss);
  double parts = 0;
  for (int64_t sequence = 0; sequence < 3;
       ++sequence) {  // one after the other, each alone at the first place
    fixture.Fill(1, 0);
    std::copy_n(fixture.model->tokens().begin() + sequence * 32, 32, fixture.model->tokens().begin());
    std::copy_n(fixture.model->targets().begin() + sequence * 32, 32, fixture.model->targets().begin());
    assert_ok(fixture.model->Validate(1));
    const LossSum sum = fixture.model->TakeLoss();
    assert_int_equal(sum.tokens, 32);
    parts += sum.sum;
  }
  assert_true(std::abs(parts / loss - 1) < 1e-6);
  assert_memory_equal(weights.data(), fixture.model->weights().data(), weights.size() * sizeof(float));
  assert_code(fixture.model->Validate(0), ErrorCode::INTERNAL);
  assert_code(fixture.model->Validate(4), ErrorCode::INTERNAL);
}

void ValidationIsTheLossAndNothingElse(void**) {
  for (const ModelSpec& spec : SmallModels()) ValidationIsTheLossAndNothingElse(spec);
}

// A model of another table beside the one that was trained, with its weights.
struct Beside {
  Beside(ModelFixture& trained, Result<plan::MemoryTable> table, bool poison) {
    assert_ok(table);
    Result<std::unique_ptr<Arena>> made = trained.device->AllocateArena(table->arena_bytes);
    assert_ok(made);
    arena = *std::move(made);
    Result<std::unique_ptr<Model>> created =
        Model::Create(*std::move(table), {arena->data(), static_cast<size_t>(arena->bytes())},
                      *trained.context, {.poison = poison});
    assert_ok(created);
    model = *std::move(created);
    std::ranges::copy(trained.model->weights(), model->weights().begin());
  }
  ~Beside() { model.reset(); }

  std::unique_ptr<Arena> arena;
  std::unique_ptr<Model> model;
};

Beside Generator(ModelFixture& trained, int64_t context) {
  return {trained,
          plan::BuildGenerationTable(trained.model->table().model, context,
                                     {.threads = trained.context->threads()}),
          true};
}

ModelSpec Long(ModelSpec model) {
  model.max_position_embeddings = 300;
  return model;
}

// The logits of every position, from one forward pass over the whole sequence.
std::vector<std::vector<float>> LogitsOfTheWhole(ModelFixture& trained, std::span<const int32_t> tokens) {
  const plan::TableOptions options{.threads = trained.context->threads(), .reuse = false};
  Beside whole(trained,
               plan::BuildInferenceTable(trained.model->table().model, 1, std::ssize(tokens), options),
               false);
  std::ranges::copy(tokens, whole.model->tokens().begin());
  assert_ok(whole.model->Validate(1));
  const plan::Slot* slot = whole.model->table().FindSlot("validate.logits");
  assert_non_null(slot);
  const auto* logits = reinterpret_cast<const float*>(whole.arena->data() + slot->offset);
  const auto vocabulary = static_cast<size_t>(trained.model->table().model.vocab_size);
  std::vector<std::vector<float>> rows;
  for (size_t row = 0; row < tokens.size(); ++row) {
    rows.emplace_back(logits + row * vocabulary, logits + (row + 1) * vocabulary);
  }
  return rows;
}

// Whatever pieces the tokens come in, their logits are those of the whole sequence at once, and so is the
// likeliest next token.
void CachedLogitsAreThoseOfTheWhole(const ModelSpec& spec) {
  constexpr int64_t kLength = 300;
  ModelFixture fixture(Long(spec), {1, 1}, {.sequence_length = kLength});
  fixture.model->Initialize(8);
  for (int64_t step = 1; step <= 10; ++step) (void)fixture.Step(step, 3e-3, step);
  fixture.Fill(1, 0);
  const std::vector<int32_t> tokens(fixture.model->tokens().begin(), fixture.model->tokens().end());
  const auto expected = LogitsOfTheWhole(fixture, tokens);
  for (const int64_t piece : {1, 7, 100, 128}) {
    Beside generator = Generator(fixture, kLength);
    for (int64_t first = 0; first < kLength;) {
      const int64_t count = std::min(piece, kLength - first);
      const auto logits = generator.model->Predict(
          std::span(tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(count)), first);
      assert_ok(logits);
      first += count;
      const std::vector<float>& whole = expected[static_cast<size_t>(first - 1)];
      for (size_t i = 0; i < whole.size(); ++i) assert_true(std::abs((*logits)[i] - whole[i]) <= 1e-5);
      assert_int_equal(std::ranges::max_element(*logits) - logits->begin(),
                       std::ranges::max_element(whole) - whole.begin());
    }
  }
}

void CachedLogitsAreThoseOfTheWhole(void**) {
  for (const ModelSpec& spec : SmallModels()) CachedLogitsAreThoseOfTheWhole(spec);
}

// A text may be given anew from any place: what the cache held behind it does not matter.
void PredictionGoesOnFromAnyPlace(void**) {
  ModelFixture fixture(SmallLlama(), {1, 1});
  fixture.model->Initialize(8);
  Beside generator = Generator(fixture, 32);
  const std::vector<int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6};
  const auto all = generator.model->Predict(tokens, 0);
  assert_ok(all);
  const std::vector<float> expected = Copy(*all);
  const std::vector<int32_t> others(20, 7);
  assert_ok(generator.model->Predict(others, 4));
  const auto again = generator.model->Predict(std::span(tokens).subspan(4), 4);
  assert_ok(again);
  for (size_t i = 0; i < expected.size(); ++i) assert_true(std::abs((*again)[i] - expected[i]) <= 1e-5);
  assert_code(generator.model->Predict({}, 0), ErrorCode::INTERNAL);
  assert_code(generator.model->Predict(tokens, 25), ErrorCode::INTERNAL);
  assert_code(generator.model->Predict(tokens, -1), ErrorCode::INTERNAL);
  assert_code(generator.model->Predict(std::vector<int32_t>(33, 1), 0), ErrorCode::INTERNAL);
}

void ForeignTokensAreRefused(void**) {
  ModelFixture fixture(SmallLlama(), {1, 1});
  fixture.model->Initialize(8);
  for (int32_t foreign : {-1, 256, 1 << 30}) {
    fixture.Fill(1, 0);
    fixture.model->tokens()[5] = foreign;
    assert_code(fixture.model->Run({plan::InstructionKind::kForward}), ErrorCode::TOKEN_OUT_OF_RANGE);
    fixture.Fill(1, 0);
    fixture.model->targets()[31] = foreign;
    assert_ok(fixture.model->Run({plan::InstructionKind::kForward}));
    assert_code(fixture.model->Run({plan::InstructionKind::kLoss}), ErrorCode::TOKEN_OUT_OF_RANGE);
  }
}

void WrongBindingsAreRefused(void**) {
  ModelFixture fixture(SmallLlama(), {1, 1});
  const plan::MemoryTable& table = fixture.model->table();
  const auto bytes = static_cast<size_t>(table.arena_bytes);
  std::byte* arena = fixture.arena->data();
  assert_code(Model::Create(table, {arena, bytes - 1}, *fixture.context), ErrorCode::INTERNAL);
  assert_code(Model::Create(table, {arena + 4, bytes}, *fixture.context), ErrorCode::INTERNAL);
  plan::MemoryTable narrow = table;
  narrow.threads = 0;
  assert_code(Model::Create(narrow, {arena, bytes}, *fixture.context), ErrorCode::INTERNAL);
  assert_code(fixture.model->Run({plan::InstructionKind::kOptimize}), ErrorCode::INTERNAL);
  assert_code(fixture.model->Run({plan::InstructionKind::kBackwardInput}), ErrorCode::INTERNAL);
  assert_code(fixture.model->Predict(std::vector<int32_t>{1}, 0), ErrorCode::INTERNAL);
}

void EveryOperatorIsProgress(void**) {
  ModelFixture fixture(SmallLlama(), {1, 2});
  fixture.model->Initialize(8);
  const plan::MemoryTable& table = fixture.model->table();
  auto calls = [&](plan::InstructionKind kind) {
    return static_cast<int64_t>(table.FindProgram(kind)->calls.size());
  };
  const int64_t before = fixture.model->completed_operators();
  (void)fixture.Step(1, 1e-3, 1);
  const int64_t expected = 2 * (calls(plan::InstructionKind::kForward) + calls(plan::InstructionKind::kLoss) +
                                calls(plan::InstructionKind::kBackward)) +
                           calls(plan::InstructionKind::kNorm) + calls(plan::InstructionKind::kOptimize);
  assert_int_equal(fixture.model->completed_operators() - before, expected);
}

}  // namespace
}  // namespace traind::model

int main() {
  using namespace traind::model;
  const CMUnitTest tests[] = {
      cmocka_unit_test(InitialLossIsThatOfAGuess),
      cmocka_unit_test(LossFalls),
      cmocka_unit_test(InitialWeightsAreNormal),
      cmocka_unit_test(InitialWeightsDependOnWhatTheyShould),
      cmocka_unit_test(InitialWeightsDoNotDependOnThreads),
      cmocka_unit_test(NormsBeginAsOnesBiasesAsZeros),
      cmocka_unit_test(ResidualProjectionsBeginSmaller),
      cmocka_unit_test(MicroBatchesAddUp),
      cmocka_unit_test(SplitBackwardGivesTheSameBits),
      cmocka_unit_test(RecomputingGivesTheSameBits),
      cmocka_unit_test(SameRunSameBits),
      cmocka_unit_test(SquareNormIsThatOfAllGradients),
      cmocka_unit_test(DecayLeavesNormsAlone),
      cmocka_unit_test(ValidationIsTheLossAndNothingElse),
      cmocka_unit_test(CachedLogitsAreThoseOfTheWhole),
      cmocka_unit_test(PredictionGoesOnFromAnyPlace),
      cmocka_unit_test(ForeignTokensAreRefused),
      cmocka_unit_test(WrongBindingsAreRefused),
      cmocka_unit_test(EveryOperatorIsProgress),
  };
  return cmocka_run_group_tests_name("model", tests, nullptr, nullptr);
}
