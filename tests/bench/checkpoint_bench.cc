// traind-bench checkpoint: what a checkpoint costs the run that makes it, with a snapshot in memory and
// without, beside one that is waited for (the last one of a run).
//
// A row per model and mode: the median step while nothing is written, how long the checkpoint took from its
// begin to its publication, how long training stood still for it, and how much longer the steps beside it
// took. The stall is given in percent of a step, and of the time between checkpoints at the default interval.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/io.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/machine.h"
#include "engine/plan/planner.h"
#include "engine/train/run.h"
#include "tests/bench/bench.h"

namespace traind::bench {
namespace {

constexpr double kDefaultIntervalSeconds = 600;
constexpr const char* kText = "/usr/share/common-licenses/GPL-3";

struct Shape {
  const char* name;
  int64_t hidden, layers, heads, intermediate, vocab, sequence, sequences, steps, every;
};
constexpr Shape kShapes[] = {
    {"20m", 384, 8, 6, 1024, 8000, 256, 4, 24, 8},
    {"124m", 768, 12, 12, 2048, 50257, 256, 4, 12, 4},
};

// Notes what the run tells, and when.
class Recorder : public train::Session {
 public:
  explicit Recorder(const Clock& clock) : clock_(clock) {}

  struct Step {
    double end = 0;
    int64_t step = 0;
  };
  std::vector<Step> steps;
  std::vector<train::CheckpointReport> checkpoints;
  std::vector<double> told;  // when

  train::Requests Poll() override { return requests_; }
  void CheckpointAnswered() override {}
  void Preparing(int64_t, int64_t) override {}
  void Prepared(const train::DataCounts&, const std::optional<train::DataCounts>&, int64_t) override {}
  void Running(std::string_view, int64_t, int64_t) override { begin = clock_.MonotonicSeconds(); }
  void Metrics(const MetricRow& row) override { steps.push_back({clock_.MonotonicSeconds(), row.step}); }
  void CheckpointWritten(const train::CheckpointReport& report) override {
    checkpoints.push_back(report);
    told.push_back(clock_.MonotonicSeconds());
    requests_.saved_step = report.step;
  }
  void CheckpointFailed(int64_t, const Status& status) override { failure = status; }
  void TotalSteps(int64_t) override {}
  void Message(LogLevel, std::string_view) override {}
  void Doing(std::string_view, int64_t, double) override {}
  void Advance() override {}
  void Watch(const std::atomic<int64_t>*) override {}

  Status failure;
  double begin = 0;

 private:
  const Clock& clock_;
  train::Requests requests_;
};

TrainTask TaskOf(const Shape& shape, const std::string& directory) {
  TrainTask task;
  task.job = 1;
  task.model.hidden_size = shape.hidden;
  task.model.num_hidden_layers = shape.layers;
  task.model.num_attention_heads = task.model.num_key_value_heads = shape.heads;
  task.model.intermediate_size = shape.intermediate;
  task.model.vocab_size = shape.vocab;
  task.model.max_position_embeddings = shape.sequence;
  task.model.tie_word_embeddings = true;
  task.training.sequence_length = shape.sequence;
  task.training.batch_tokens = shape.sequence * shape.sequences;
  task.training.target.steps = shape.steps;
  task.training.checkpoint_every_steps = shape.every;
  task.training.keep_checkpoints = 2;
  task.data = DataSpec{"text", {kText}, DataFormat::kText, "text"};
  task.cache_directory = directory + "/cache";
  task.checkpoint_directory = directory + "/checkpoints";
  return task;
}

Result<DeviceSpec> ThisDevice() {
  const Machine machine;
  DeviceSpec spec;
  spec.threads = machine.AllowedThreads();
  TRAIND_ASSIGN(const InstructionSet set, UsableInstructionSet());
  spec.instruction_set = InstructionSetName(set);
  spec.memory_bytes = machine.InstalledMemoryBytes();
  spec.free_bytes = spec.memory_bytes;
  spec.context_bytes = 32 << 20;
  spec.matmul_flops_per_second = 1e11 * static_cast<double>(spec.threads);
  spec.memory_bytes_per_second = 1e10;
  return spec;
}

// The steps, each with its duration; the first, which prepares things, left out.
struct Durations {
  std::vector<double> calm;    // nothing was being written
  std::vector<double> beside;  // a checkpoint was begun at its begin
};

Durations DurationsOf(const Recorder& recorder, int64_t every) {
  Durations durations;
  for (size_t i = 1; i < recorder.steps.size(); ++i) {
    const double begin = recorder.steps[i - 1].end, end = recorder.steps[i].end;
    const bool first_after = recorder.steps[i - 1].step % every == 0;
    const bool written = std::ranges::any_of(recorder.checkpoints, [&](const auto& report) {
      const size_t index = static_cast<size_t>(&report - recorder.checkpoints.data());
      return recorder.told[index] - report.seconds < end && recorder.told[index] > begin;
    });
    if (first_after) {
      durations.beside.push_back(end - begin);
    } else if (!written) {
      durations.calm.push_back(end - begin);
    }
  }
  return durations;
}

Json RowOf(const Shape& shape, const char* mode, int64_t checkpoint_bytes, double step, double seconds,
           double stall, double beside) {
  return {{"model", shape.name},
          {"mode", mode},
          {"checkpoint_bytes", checkpoint_bytes},
          {"step_ms", 1e3 * step},
          {"written_ms", 1e3 * seconds},
          {"stall_ms", 1e3 * stall},
          {"stall_percent_of_step", 100 * stall / step},
          {"stall_percent_of_interval", 100 * stall / kDefaultIntervalSeconds},
          {"slowed_ms", 1e3 * (beside - step)}};
}

Result<Recorder> RunOnce(const Shape& shape, bool snapshot, const std::string& directory) {
  const TrainTask task = TaskOf(shape, directory);
  TRAIND_ASSIGN(const DeviceSpec spec, ThisDevice());
  plan::PlanRequest request;
  request.model = task.model;
  request.training = task.training;
  request.devices = {spec};
  TRAIND_ASSIGN(const plan::PlanChoice choice, plan::PlanTraining(request));
  const plan::Plan& plan = choice.plan;
  plan::Strategy strategy = plan.strategy;
  strategy.snapshot = strategy.snapshot && snapshot;
  CpuOptions options;
  options.threads = static_cast<int>(spec.threads);
  TRAIND_ASSIGN(const std::unique_ptr<Device> device, OpenCpuDevice(options));
  Recorder recorder(SystemClock());
  const train::RunPlan run_plan{
      strategy,
      plan.hash,
      plan.arena_bytes,
      {plan.step_seconds, plan.validation_seconds, plan.checkpoint_seconds, plan.checkpoint_stall_seconds},
      spec.matmul_flops_per_second};
  TRAIND_TRY(
      train::RunTraining(task, run_plan, {PosixIo(), SystemClock(), *device, recorder, "bench"}).status());
  TRAIND_TRY(recorder.failure);
  return recorder;
}

Status Measure(const Shape& shape, bool snapshot, Report* report) {
  std::string directory = (std::filesystem::temp_directory_path() / "traind-bench-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return Status(ErrorCode::IO, "no directory for the bench");
  const Result<Recorder> recorder = RunOnce(shape, snapshot, directory);
  TRAIND_TRY(PosixIo().RemoveTree(directory));
  TRAIND_TRY(recorder.status());
  const Durations durations = DurationsOf(*recorder, shape.every);
  const double step = Percentile(durations.calm, 0.5);
  double seconds = 0, stall = 0;
  const auto periodic = static_cast<double>(recorder->checkpoints.size() - 1);
  for (size_t i = 0; i + 1 < recorder->checkpoints.size(); ++i) {
    seconds += recorder->checkpoints[i].seconds / periodic;
    stall += recorder->checkpoints[i].stall_seconds / periodic;
  }
  const char* mode = snapshot ? "background" : "without snapshot";
  report->rows.push_back(RowOf(shape, mode, recorder->checkpoints.front().bytes, step, seconds, stall,
                               Percentile(durations.beside, 0.5)));
  if (!snapshot) return Ok();
  const train::CheckpointReport& last = recorder->checkpoints.back();
  report->rows.push_back(
      RowOf(shape, "waited for", last.bytes, step, last.seconds, last.stall_seconds, step));
  report->summary[fmt::format("{}_stall_percent_of_step", shape.name)] = 100 * stall / step;
  return Ok();
}

}  // namespace

Result<Report> BenchCheckpoint(const Arguments&) {
  Report report;
  for (const Shape& shape : kShapes) {
    for (const bool snapshot : {true, false}) TRAIND_TRY(Measure(shape, snapshot, &report));
  }
  return report;
}

}  // namespace traind::bench
