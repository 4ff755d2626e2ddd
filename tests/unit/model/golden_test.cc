// Against PyTorch: same weights, same batches, fp32. tests/data/golden/make_model_golden.py made the values.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/spec/training.h"
#include "tests/support/test.h"
#include "tests/unit/model/golden_models.h"
#include "tests/unit/model/model_fixture.h"

namespace traind::model {
namespace {

constexpr int64_t kSteps = 100;
constexpr int64_t kLength = kGoldenLength;

struct Golden {
  std::vector<double> losses;
  double norm = 0;
  std::vector<float> gradient;
};

Golden Load(const std::string& name) {
  const char* source = std::getenv("TRAIND_SOURCE");
  const std::string path = std::string(source == nullptr ? "." : source) + "/tests/data/golden/" + name;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  assert_true(bytes.size() > (kSteps + 1) * sizeof(double));
  Golden golden;
  golden.losses.resize(kSteps);
  std::memcpy(golden.losses.data(), bytes.data(), kSteps * sizeof(double));
  std::memcpy(&golden.norm, bytes.data() + kSteps * sizeof(double), sizeof(double));
  const size_t rest = (kSteps + 1) * sizeof(double);
  golden.gradient.resize((bytes.size() - rest) / sizeof(float));
  std::memcpy(golden.gradient.data(), bytes.data() + rest, golden.gradient.size() * sizeof(float));
  return golden;
}

struct Case {
  ModelSpec model;
  const char* file;
  plan::Strategy strategy;
};
constexpr int64_t kSequences = 4;
const Case kCases[] = {
    {GoldenLlama(false), "llama_untied.bin", {4, 1}},
    {GoldenLlama(true), "llama_tied.bin", {4, 1}},
    {GoldenLlama(false), "llama_untied.bin", {1, 4}},
    {GoldenLlama(true), "llama_tied.bin", {2, 2}},
    {GoldenGpt2(), "gpt2.bin", {4, 1}},
    {GoldenGpt2(), "gpt2.bin", {2, 2}},
};

double Norm(std::span<const float> values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

void GradientsAgree(void**) {
  for (const Case& c : kCases) {
    const Golden golden = Load(c.file);
    ModelFixture fixture(c.model, c.strategy, {.sequence_length = kLength});
    fixture.model->Initialize(1234);
    const LossSum loss = fixture.Gradients(1);
    assert_int_equal(loss.tokens, kSequences * kLength);
    assert_true(std::abs(loss.mean() / golden.losses[0] - 1) < 1e-6);
    assert_true(std::abs(std::sqrt(fixture.model->square_norm()) / golden.norm - 1) < 1e-5);
    assert_int_equal(golden.gradient.size(), fixture.model->gradients().size());
    for (const plan::Parameter& parameter : fixture.model->table().parameters) {
      std::vector<float> difference;
      const auto offset = static_cast<size_t>(parameter.offset);
      const auto elements = static_cast<size_t>(parameter.elements);
      for (size_t i = offset; i < offset + elements; ++i) {
        difference.push_back(fixture.model->gradients()[i] - golden.gradient[i]);
      }
      const std::span<const float> expected(golden.gradient.data() + offset, elements);
      const double bound = 1e-5 * Norm(expected) + 1e-7 * Norm(golden.gradient);
      if (Norm(difference) > bound) {
        std::fprintf(stderr, "%s: %s differs by %g, bound %g\n", c.file, parameter.name.c_str(),
                     Norm(difference), bound);
        fail();
      }
    }
  }
}

void HundredLossesAgree(void**) {
  TrainingSpec training;
  training.learning_rate = 3e-4;
  training.warmup_steps = 10;
  training.scheduler = Scheduler::kConstant;
  for (const Case& c : kCases) {
    const Golden golden = Load(c.file);
    ModelFixture fixture(c.model, c.strategy, {.sequence_length = kLength});
    fixture.model->Initialize(1234);
    double worst = 0;
    for (int64_t step = 1; step <= kSteps; ++step) {
      const double loss = fixture.Gradients(step).mean();
      worst = std::max(worst, std::abs(loss / golden.losses[static_cast<size_t>(step - 1)] - 1));
      ops::AdamwSettings settings;
      settings.learning_rate = LearningRateAt(training, step, kSteps);
      settings.weight_decay = training.weight_decay;
      settings.gradient_scale = std::min(1.0, 1.0 / (std::sqrt(fixture.model->square_norm()) + 1e-6));
      settings.step = step;
      assert_ok(fixture.model->Optimize(settings));
    }
    std::fprintf(stderr, "%s as %ld x %ld: largest relative difference of a loss %.2g\n", c.file,
                 static_cast<long>(c.strategy.micro_batches), static_cast<long>(c.strategy.micro_batch),
                 worst);
    assert_true(worst < 5e-6);
  }
}

}  // namespace
}  // namespace traind::model

int main() {
  using namespace traind::model;
  const CMUnitTest tests[] = {
      cmocka_unit_test(GradientsAgree),
      cmocka_unit_test(HundredLossesAgree),
  };
  return cmocka_run_group_tests_name("golden", tests, nullptr, nullptr);
}
