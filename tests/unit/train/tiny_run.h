// A tiny model on a real text, planned and run in this process, with a session that a test scripts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/io.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/plan/planner.h"
#include "engine/spec/task.h"
#include "engine/train/run.h"
#include "tests/support/scratch.h"

namespace traind::testing {

inline constexpr const char* kText = "/usr/share/common-licenses/GPL-3";
inline constexpr const char* kOtherText = "/usr/share/common-licenses/Artistic";

// Records what a run tells; the test's script decides what it asks.
class ScriptedSession : public train::Session {
 public:
  // Called at each Poll with the number of polls before it.
  std::function<void(int64_t poll, train::Requests* requests)> script;
  // Called with each checkpoint that is told, after it was noted.
  std::function<void(const train::CheckpointReport& report)> written;
  bool acknowledge = true;  // says "saved" for each checkpoint at once

  std::vector<MetricRow> rows;
  std::vector<train::CheckpointReport> checkpoints;
  std::vector<std::pair<int64_t, Status>> failures;
  std::vector<int64_t> total_steps;
  std::vector<std::string> order;  // names of the messages, repetitions left out
  std::vector<std::string> messages;
  std::vector<std::string> instructions;
  int64_t polls = 0;
  int64_t answered = 0;
  train::Requests now;

  train::Requests Poll() override {
    if (script) script(polls, &now);
    ++polls;
    return now;
  }
  void CheckpointAnswered() override {
    now.checkpoint = false;
    ++answered;
  }
  void Preparing(int64_t, int64_t) override { Note("preparing"); }
  void Prepared(const train::DataCounts&, const std::optional<train::DataCounts>&, int64_t) override {
    Note("prepared");
  }
  void Running(std::string_view, int64_t, int64_t) override { Note("running"); }
  void Metrics(const MetricRow& row) override {
    Note("metrics");
    rows.push_back(row);
  }
  void CheckpointWritten(const train::CheckpointReport& report) override {
    Note("checkpoint");
    checkpoints.push_back(report);
    if (acknowledge) now.saved_step = report.step;
    if (written) written(report);
  }
  void CheckpointFailed(int64_t step, const Status& status) override { failures.push_back({step, status}); }
  void TotalSteps(int64_t total) override { total_steps.push_back(total); }
  void Message(LogLevel, std::string_view text) override { messages.emplace_back(text); }
  void Doing(std::string_view instruction, int64_t, double) override {
    instructions.emplace_back(instruction);
  }
  void Advance() override {}
  void Watch(const std::atomic<int64_t>*) override {}

 private:
  void Note(const char* name) {
    if (order.empty() || order.back() != name) order.emplace_back(name);
  }
};

// Hands out the arena, so that a test can look into it.
class WatchedDevice : public Device {
 public:
  WatchedDevice(Device* device, std::byte** arena) : device_(device), arena_(arena) {}
  const Capability& capability() const override { return device_->capability(); }
  Result<std::unique_ptr<Arena>> AllocateArena(int64_t bytes) override {
    TRAIND_ASSIGN(std::unique_ptr<Arena> arena, device_->AllocateArena(bytes));
    *arena_ = arena->data();
    return arena;
  }

 private:
  Device* const device_;
  std::byte** const arena_;
};

// A task with all directories in a scratch directory of its own.
class TinyRun {
 public:
  TinyRun() {
    task.job = 7;
    task.attempt = 1;
    task.model.hidden_size = 32;
    task.model.num_hidden_layers = 2;
    task.model.num_attention_heads = 4;
    task.model.num_key_value_heads = 2;
    task.model.intermediate_size = 64;
    task.model.max_position_embeddings = 32;
    task.training.learning_rate = 3e-3;
    task.training.warmup_steps = 3;
    task.training.sequence_length = 32;
    task.training.batch_tokens = 256;
    task.training.seed = 1;
    task.training.target.steps = 20;
    task.data = DataSpec{"d", {kText}, DataFormat::kText, "text"};
    task.cache_directory = scratch / "cache";
    task.checkpoint_directory = scratch / "checkpoints";
    task.statement = "TRAIN MODEL m FROM d";
  }

  static DeviceSpec Spec() {
    DeviceSpec spec;
    spec.threads = 1;
    spec.instruction_set = InstructionSetName(WidestInstructionSet());
    spec.memory_bytes = int64_t{8} << 30;
    spec.free_bytes = spec.memory_bytes;
    spec.context_bytes = 32 << 20;
    spec.matmul_flops_per_second = 1e11;
    spec.bf16_flops_per_second = 2e11;
    spec.memory_bytes_per_second = 1e10;
    return spec;
  }

  Result<plan::Plan> MakePlan() const {
    plan::PlanRequest request;
    request.model = task.model;
    request.training = task.training;
    request.devices = {Spec()};
    request.validates = task.validation.has_value();
    if (task.seconds_left > 0) request.budget.wall_clock_seconds = task.seconds_left;
    TRAIND_ASSIGN(plan::PlanChoice choice, plan::PlanTraining(request));
    return std::move(choice.plan);
  }

  Result<train::Outcome> Run(train::Session* session, const Clock& clock = SystemClock(),
                             std::optional<train::PaceSeconds> predicted = {}) {
    TRAIND_ASSIGN(const plan::Plan made, MakePlan());
    const train::PaceSeconds planned{made.step_seconds, made.validation_seconds, made.checkpoint_seconds};
    plan::Strategy strategy = made.strategy;
    strategy.snapshot = strategy.snapshot && snapshot;
    const train::RunPlan run_plan{strategy, made.hash, made.arena_bytes, predicted.value_or(planned),
                                  made.device.matmul_flops_per_second};
    CpuOptions options;
    options.threads = 1;
    TRAIND_ASSIGN(const std::unique_ptr<Device> device, OpenCpuDevice(options));
    WatchedDevice watched(device.get(), &arena);
    return train::RunTraining(task, run_plan, {*io, clock, watched, *session, "test"});
  }

  // Makes the next run go on from the newest checkpoint, as another attempt.
  void ResumeFrom(const std::string& checkpoint) {
    task.resume_checkpoint = checkpoint;
    ++task.attempt;
  }

  Scratch scratch;
  TrainTask task;
  Io* io = &PosixIo();
  std::byte* arena = nullptr;  // of the run under way
  bool snapshot = true;        // false: without room for one
};

// Rows by step, the newest of each step.
inline std::map<int64_t, MetricRow> ByStep(const std::vector<std::vector<MetricRow>>& attempts) {
  std::map<int64_t, MetricRow> rows;
  for (const auto& attempt : attempts) {
    for (const MetricRow& row : attempt) rows[row.step] = row;
  }
  return rows;
}

// The parts of a row that must not depend on interruptions, bit for bit.
inline bool SameBits(const MetricRow& a, const MetricRow& b) {
  return a.step == b.step && a.tokens == b.tokens && a.loss == b.loss && a.grad_norm == b.grad_norm &&
         a.learning_rate == b.learning_rate && a.val_loss == b.val_loss;
}

}  // namespace traind::testing
