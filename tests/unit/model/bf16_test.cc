// Training in bf16: against PyTorch's autocast (tests/data/golden/make_bf16_golden.py), its own master
// weights, and the lifetimes of its slots.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "engine/spec/training.h"
#include "engine/tensor/bfloat16.h"
#include "tests/support/test.h"
#include "tests/unit/model/golden_models.h"
#include "tests/unit/model/model_fixture.h"

namespace traind::model {
namespace {

constexpr int64_t kLength = kGoldenLength, kSteps = 100;

std::vector<double> Losses(const std::string& model) {
  const char* source = std::getenv("TRAIND_SOURCE");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/tests/data/golden/bf16_golden.txt");
  std::vector<double> losses;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(model + " : ")) continue;
    std::istringstream values(line.substr(model.size() + 3));
    for (double value = 0; values >> value;) losses.push_back(value);
  }
  assert_int_equal(losses.size(), kSteps);
  return losses;
}

ops::AdamwSettings SettingsAt(int64_t step, double square_norm) {
  TrainingSpec training;
  training.learning_rate = 3e-4;
  training.warmup_steps = 10;
  training.scheduler = Scheduler::kConstant;
  ops::AdamwSettings settings;
  settings.learning_rate = LearningRateAt(training, step, kSteps);
  settings.weight_decay = training.weight_decay;
  settings.gradient_scale = std::min(1.0, 1.0 / (std::sqrt(square_norm) + 1e-6));
  settings.step = step;
  return settings;
}

void LossesAgreeWithPytorch(void**) {
  struct Case {
    const char* name;
    ModelSpec model;
    plan::Strategy strategy;
  };
  const Case cases[] = {{"llama_untied", GoldenLlama(false), {4, 1}},
                        {"llama_tied", GoldenLlama(true), {2, 2}},
                        {"gpt2", GoldenGpt2(), {4, 1}},
                        {"gpt2", GoldenGpt2(), {1, 4}}};
  for (const Case& c : cases) {
    const std::vector<double> golden = Losses(c.name);
    ModelFixture fixture(c.model, c.strategy, {.sequence_length = kLength, .precision = Precision::kBf16});
    fixture.model->Initialize(1234);
    double worst = 0;
    for (int64_t step = 1; step <= kSteps; ++step) {
      const double loss = fixture.Gradients(step).mean();
      const double difference = std::abs(loss - golden[static_cast<size_t>(step - 1)]);
      if (step == 1) assert_true(difference < 2e-3);
      worst = std::max(worst, difference);
      assert_ok(fixture.model->Optimize(SettingsAt(step, fixture.model->square_norm())));
    }
    std::fprintf(stderr, "%s as %ld x %ld: largest difference of a loss %.2g\n", c.name,
                 static_cast<long>(c.strategy.micro_batches), static_cast<long>(c.strategy.micro_batch),
                 worst);
    assert_true(worst < 1e-2);
  }
}

// A gradient in bf16 points where that of fp32 does.
void GradientsAreNearThoseOfFp32(void**) {
  for (const ModelSpec& spec : SmallModels()) {
    ModelFixture exact(spec, {2, 2}), rounded(spec, {2, 2}, {.precision = Precision::kBf16});
    exact.model->Initialize(3);
    rounded.model->Initialize(3);
    (void)exact.Gradients(1);
    (void)rounded.Gradients(1);
    double difference = 0, square = 0;
    for (size_t i = 0; i < exact.model->gradients().size(); ++i) {
      const auto a = static_cast<double>(exact.model->gradients()[i]);
      const auto b = static_cast<double>(rounded.model->gradients()[i]);
      difference += (a - b) * (a - b);
      square += a * a;
    }
    assert_true(std::sqrt(difference / square) < 0.03);
  }
}

// Updates far below what bf16 can tell apart are not lost: they add up in the master weights.
void SmallUpdatesAddUp(void**) {
  ModelFixture fixture(SmallLlama(), {2, 1}, {.precision = Precision::kBf16});
  fixture.model->Initialize(1);
  const plan::Parameter* norm = plan::FindParameter(fixture.model->table().parameters, "model.norm.weight");
  assert_non_null(norm);
  for (int64_t step = 1; step <= 20; ++step) (void)fixture.Step(step, 1e-5, 1);
  int64_t moved = 0;
  for (const float weight : fixture.model->Part(fixture.model->weights(), *norm)) {
    moved += weight != 1.0F && std::abs(weight - 1.0F) < 1e-3F ? 1 : 0;
  }
  assert_true(moved > norm->elements / 2);
}

// What is computed with is the master copy, rounded, also after somebody wrote the weights.
void RoundedWeightsFollowTheMaster(void**) {
  for (const ModelSpec& spec : SmallModels()) {
    ModelFixture fixture(spec, {2, 1}, {.poison = true, .precision = Precision::kBf16});
    fixture.model->Initialize(1);
    const auto check = [&] {
      const plan::Slot* slot = fixture.model->table().FindSlot(plan::kRoundedWeightsSlot);
      assert_non_null(slot);
      const auto* rounded = reinterpret_cast<const Bfloat16*>(fixture.arena->data() + slot->offset);
      const std::span<float> master = fixture.model->weights();
      for (size_t i = 0; i < master.size(); ++i) assert_true(rounded[i] == ToBfloat16(master[i]));
    };
    (void)fixture.Step(1, 3e-3, 1);
    check();
    for (float& weight : fixture.model->weights()) weight *= 1.5F;
    const double loss = fixture.Gradients(2).mean();
    check();
    ModelFixture other(spec, {2, 1}, {.precision = Precision::kBf16});
    std::ranges::copy(fixture.model->weights(), other.model->weights().begin());
    assert_true(other.Gradients(2).mean() == loss);
  }
}

// Slots overlap, are poisoned and filled with not a number outside their lifetimes: nothing changes.
void PlacementDoesNotChangeTheBits(void**) {
  for (const ModelSpec& spec : SmallModels()) {
    for (const auto form : {plan::BackwardForm::kJoint, plan::BackwardForm::kSplit}) {
      const auto run = [&](bool reuse, bool poison) {
        ModelFixture fixture(spec, {3, 2},
                             {.sequence_length = 19,
                              .reuse = reuse,
                              .poison = poison,
                              .backward = form,
                              .precision = Precision::kBf16});
        fixture.model->Initialize(9);
        for (int64_t step = 1; step <= 3; ++step) (void)fixture.Step(step, 3e-3, step);
        return std::vector<float>(fixture.model->weights().begin(), fixture.model->weights().end());
      };
      assert_true(run(true, true) == run(false, false));
    }
  }
}

void LossFalls(void**) {
  for (const ModelSpec& spec : SmallModels()) {
    ModelFixture fixture(spec, {2, 2}, {.precision = Precision::kBf16});
    fixture.model->Initialize(1);
    const double first = fixture.Step(1, 3e-3, 0).mean();
    double last = first;
    for (int64_t step = 2; step <= 60; ++step) last = fixture.Step(step, 3e-3, 0).mean();
    assert_true(last < first - 2);
  }
}

}  // namespace
}  // namespace traind::model

int main() {
  using namespace traind::model;
  const CMUnitTest tests[] = {
      cmocka_unit_test(LossesAgreeWithPytorch),
      cmocka_unit_test(GradientsAreNearThoseOfFp32),
      cmocka_unit_test(SmallUpdatesAddUp),
      cmocka_unit_test(RoundedWeightsFollowTheMaster),
      cmocka_unit_test(PlacementDoesNotChangeTheBits),
      cmocka_unit_test(LossFalls),
  };
  return cmocka_run_group_tests_name("bf16", tests, nullptr, nullptr);
}
