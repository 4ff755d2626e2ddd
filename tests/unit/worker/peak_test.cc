// The peak of real workers against what their plans predict: training with validation and checkpoints, and
// resuming.
//
// Over unlike configurations the prediction is within 1 % in the mean and 3 % at worst, and never under.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/plan/planner.h"
#include "tests/support/test.h"
#include "tests/unit/train/tiny_run.h"
#include "tests/unit/worker/worker_process.h"

namespace traind {
namespace {

using testing::Attempt;
using testing::TinyRun;
using testing::WorkerProcess;

constexpr auto kLlama = Architecture::kLlama, kGpt2 = Architecture::kGpt2, kQwen2 = Architecture::kQwen2;
constexpr auto kNone = plan::Recompute::kNone, kSelective = plan::Recompute::kSelective,
               kFull = plan::Recompute::kFull;

struct Configuration {
  int64_t hidden_size, layers, heads, kv_heads, intermediate_size, vocab_size;
  int64_t sequence_length, sequences;
  bool tied, validates;
  Architecture architecture = kLlama;
  plan::Recompute recompute = kNone;
  int64_t micro_batch = 0;  // 0: the planner's choice
  Precision precision = Precision::kFp32;
};

constexpr Precision kBf16 = Precision::kBf16;  // where it is not native, its rows are left out

// Arenas from about 40 MiB to about 800 MiB; peaks in activations, in weights and in logits. The kernel
// counts resident pages in batches per processor, so that smaller processes measure 1 % apart from one run to
// the next.
constexpr Configuration kConfigurations[] = {
    {64, 2, 4, 2, 192, 256, 256, 32, false, false},
    {64, 3, 4, 2, 192, 256, 128, 48, false, true},
    {128, 4, 4, 4, 384, 256, 128, 8, false, true},
    {128, 4, 8, 2, 344, 512, 128, 6, true, false},
    {256, 6, 8, 4, 704, 256, 256, 4, false, true},
    {256, 6, 8, 8, 704, 256, 256, 12, true, false},
    {256, 4, 4, 1, 688, 16000, 128, 8, false, true},
    {256, 2, 4, 1, 688, 32000, 64, 16, true, true},
    {384, 6, 6, 2, 1024, 256, 128, 16, false, false},
    {384, 8, 6, 6, 1024, 1000, 256, 2, true, true},
    {512, 8, 8, 4, 1408, 256, 64, 2, false, true},
    {512, 8, 8, 8, 1408, 256, 256, 4, false, false},
    {512, 4, 8, 2, 1536, 8000, 512, 2, true, false},
    {768, 4, 12, 4, 2048, 256, 64, 1, false, true},
    {768, 6, 12, 12, 2048, 4000, 128, 4, true, false},
    {1024, 4, 16, 8, 2816, 256, 64, 1, false, false},
    {96, 12, 6, 3, 250, 300, 200, 5, false, true},
    {160, 3, 5, 5, 433, 777, 77, 9, true, true},
    {64, 16, 2, 1, 128, 256, 512, 4, false, false},
    {128, 4, 2, 1, 512, 256, 1024, 6, false, true},
    {80, 3, 5, 1, 240, 256, 192, 20, false, false},
    {320, 10, 10, 5, 896, 256, 100, 7, false, true},
    {128, 4, 4, 4, 512, 256, 128, 32, true, false, kGpt2},
    {256, 4, 8, 8, 1024, 256, 256, 8, true, true, kGpt2},
    {256, 6, 4, 4, 1024, 8000, 128, 8, true, false, kGpt2, kNone, 4},
    {384, 6, 6, 6, 1536, 256, 128, 8, true, true, kGpt2, kNone, 2},
    {512, 6, 8, 8, 2048, 1000, 64, 4, false, false, kGpt2},
    {768, 3, 12, 12, 3072, 2000, 128, 4, true, true, kGpt2, kNone, 4},
    {100, 6, 5, 5, 333, 777, 77, 40, true, false, kGpt2},
    {192, 12, 3, 3, 768, 256, 200, 10, true, true, kGpt2, kSelective, 10},
    {256, 6, 8, 8, 1024, 256, 256, 8, true, false, kGpt2, kSelective, 4},
    {256, 8, 8, 8, 1024, 256, 256, 16, true, false, kGpt2, kFull, 16},
    {384, 6, 6, 6, 1536, 4000, 128, 8, true, true, kGpt2, kFull, 8},
    {128, 24, 4, 4, 512, 256, 256, 12, true, false, kGpt2, kFull, 6},
    {256, 6, 8, 4, 704, 256, 256, 12, false, false, kLlama, kSelective, 12},
    {256, 8, 8, 8, 704, 256, 256, 16, false, true, kLlama, kFull, 16},
    {384, 8, 6, 2, 1024, 256, 128, 16, true, false, kLlama, kFull, 4},
    {512, 8, 8, 4, 1408, 256, 256, 4, false, false, kLlama, kSelective, 2},
    {128, 24, 4, 2, 384, 256, 256, 12, false, true, kLlama, kFull, 12},
    {768, 4, 12, 4, 2048, 256, 64, 2, false, false, kLlama, kFull, 2},
    {256, 6, 8, 2, 704, 256, 256, 8, true, false, kQwen2, kNone, 8},
    {448, 6, 7, 1, 1216, 3000, 128, 8, true, true, kQwen2, kSelective, 8},
    {320, 8, 5, 5, 896, 256, 200, 6, false, false, kQwen2, kFull, 6},
    {256, 3, 4, 2, 512, 16000, 64, 16, true, false, kQwen2},
    {64, 2, 4, 2, 192, 256, 256, 40, false, false, kLlama, kNone, 0, kBf16},
    {128, 4, 4, 4, 384, 256, 128, 16, false, true, kLlama, kNone, 0, kBf16},
    {256, 4, 4, 1, 688, 16000, 128, 8, true, true, kLlama, kNone, 0, kBf16},
    {384, 6, 6, 2, 1024, 256, 128, 16, false, false, kLlama, kNone, 0, kBf16},
    {512, 8, 8, 4, 1408, 256, 64, 2, false, true, kLlama, kNone, 0, kBf16},
    {96, 12, 6, 3, 250, 300, 200, 5, false, true, kLlama, kNone, 0, kBf16},
    {160, 3, 5, 5, 433, 777, 77, 9, true, true, kLlama, kNone, 0, kBf16},
    {768, 4, 12, 4, 2048, 256, 64, 1, false, false, kLlama, kNone, 0, kBf16},
    {192, 6, 6, 6, 768, 256, 128, 32, true, false, kGpt2, kNone, 0, kBf16},
    {384, 6, 6, 6, 1536, 4000, 128, 8, true, true, kGpt2, kFull, 8, kBf16},
    {256, 6, 8, 2, 704, 256, 256, 16, true, false, kQwen2, kSelective, 16, kBf16},
    {512, 6, 8, 8, 2048, 1000, 64, 4, false, false, kGpt2, kNone, 0, kBf16},
};
static_assert(std::size(kConfigurations) * 2 >= 50);

Result<DeviceSpec> Probe() {
  FILE* pipe = popen((std::string(std::getenv("TRAIND_BIN")) + "/traind-worker --probe").c_str(), "r");
  if (pipe == nullptr) return Status(ErrorCode::IO, "no probe");
  std::string text;
  char buffer[4096];
  while (size_t got = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  pclose(pipe);
  TRAIND_ASSIGN(const Json object, ParseJson(text));
  return DeviceFromJson(object);
}

void Configure(const Configuration& c, TrainTask* task) {
  task->model.architecture = c.architecture;
  task->model.hidden_size = c.hidden_size;
  task->model.num_hidden_layers = c.layers;
  task->model.num_attention_heads = c.heads;
  task->model.num_key_value_heads = c.kv_heads;
  task->model.intermediate_size = c.intermediate_size;
  task->model.vocab_size = c.vocab_size;
  task->model.max_position_embeddings = c.sequence_length;
  task->model.tie_word_embeddings = c.tied;
  task->training.sequence_length = c.sequence_length;
  task->training.batch_tokens = c.sequence_length * c.sequences;
  task->training.precision = c.precision;
  task->training.target.steps = 2;
  task->training.checkpoint_every_steps = 1;
  if (c.validates) task->validation = DataSpec{"v", {testing::kOtherText}, DataFormat::kText};
}

int64_t PeakOf(const TrainTask& task) {
  WorkerProcess worker;
  worker.Send(testing::TaskMessage(task));
  const Attempt attempt = testing::Follow(&worker);
  if (!attempt.end.is_object() || attempt.end["type"] != "finished") {
    std::fprintf(stderr, "the worker did not finish: %s\n", attempt.end.dump().c_str());
    fail();
  }
  return attempt.end["peak_bytes"].get<int64_t>();
}

// The error in percent of what was measured.
double Compare(const char* what, const plan::Plan& plan, int64_t measured) {
  const double error =
      100 * (static_cast<double>(plan.predicted_peak_bytes) / static_cast<double>(measured) - 1);
  std::fprintf(stderr, "%s: predicted %.2f MiB, measured %.2f MiB, error %+.2f %%\n", what,
               static_cast<double>(plan.predicted_peak_bytes) / 0x1p20,
               static_cast<double>(measured) / 0x1p20, error);
  return error;
}

plan::Plan PlanOf(const TinyRun& run, const DeviceSpec& device, int64_t data_bytes, const Configuration& c) {
  plan::PlanRequest request;
  if (c.micro_batch > 0) {
    request.keep = {c.micro_batch, c.sequences / c.micro_batch, plan::kGradientAccumulation, c.recompute};
  }
  request.model = run.task.model;
  request.training = run.task.training;
  request.devices = {device};
  request.data_tokens = data_bytes + 1;
  request.validates = run.task.validation.has_value();
  if (request.validates) {
    request.validation_tokens = static_cast<int64_t>(std::filesystem::file_size(testing::kOtherText)) + 1;
  }
  Result<plan::PlanChoice> choice = plan::PlanTraining(request);
  assert_ok(choice);
  return choice->plan;
}

void PeaksAreAsPredicted(void**) {
  const Result<DeviceSpec> device = Probe();
  assert_ok(device);
  double sum = 0, worst = 0, least = 100;
  int64_t count = 0;
  auto note = [&](double error) {
    sum += std::abs(error);
    worst = std::max(worst, std::abs(error));
    least = std::min(least, error);
    ++count;
  };
  for (const Configuration& c : kConfigurations) {
    if (c.precision == kBf16 && device->bf16_flops_per_second <= 0) continue;
    TinyRun run;
    Configure(c, &run.task);
    const plan::Plan plan =
        PlanOf(run, *device, static_cast<int64_t>(std::filesystem::file_size(testing::kText)), c);
    run.task.plan = plan::PlanToJson(plan);
    note(Compare("start ", plan, PeakOf(run.task)));
    run.ResumeFrom(run.scratch / "checkpoints/step-00000002");
    run.task.training.target.steps = 4;
    note(Compare("resume", plan, PeakOf(run.task)));
  }
  std::fprintf(stderr, "%ld workers: mean %.2f %%, worst %.2f %%, least %+.2f %%\n", static_cast<long>(count),
               sum / static_cast<double>(count), worst, least);
  assert_true(least >= 0);
  assert_true(sum / static_cast<double>(count) <= 1);
  assert_true(worst <= 3);
}

// However much data there is, little of it is in memory, while it is tokenised and while it is trained on.
void LargeDataStaysOutside(void**) {
  const Result<DeviceSpec> device = Probe();
  assert_ok(device);
  TinyRun run;
  Configure(kConfigurations[4], &run.task);
  run.task.training.target.steps = 40;
  run.task.training.checkpoint_every_steps = 100;
  const std::string path = run.scratch / "large.txt";
  constexpr int64_t kLines = 600000;
  {
    std::ofstream file(path);
    for (int64_t line = 0; line < kLines; ++line)
      file << "line " << line << " of a text that is long enough\n";
  }
  run.task.data.parts[0].data.patterns = {path};
  const plan::Plan plan =
      PlanOf(run, *device, static_cast<int64_t>(std::filesystem::file_size(path)), kConfigurations[4]);
  run.task.plan = plan::PlanToJson(plan);
  const double error = Compare("large ", plan, PeakOf(run.task));
  assert_true(error >= 0);
  assert_true(error <= 3);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {cmocka_unit_test(PeaksAreAsPredicted), cmocka_unit_test(LargeDataStaysOutside)};
  return cmocka_run_group_tests_name("peak", tests, nullptr, nullptr);
}
