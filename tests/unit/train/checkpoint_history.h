// Attempts of a job that save and resume, on any file system, with a state of a few numbers: what checkpoint
// tests disturb.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/base/publish.h"
#include "engine/format/manifest.h"
#include "engine/train/checkpoint.h"
#include "engine/train/checkpoint_store.h"
#include "engine/train/checkpoints.h"
#include "tests/unit/train/tiny_run.h"

#include "tests/support/test.h"

namespace traind::testing {

inline constexpr int64_t kHistoryKeep = 2;

// Checkpoints need no device; this one must not be asked.
class NoDevice : public Device {
 public:
  const Capability& capability() const override { return capability_; }
  Result<std::unique_ptr<Arena>> AllocateArena(int64_t) override {
    return Status(ErrorCode::INTERNAL, "no device");
  }

 private:
  Capability capability_;
};

// A state whose every value says which step it is of.
class SmallState {
 public:
  static constexpr int64_t kElements = 24;
  static constexpr size_t kBytes = 3 * 4 * kElements;

  SmallState() {
    spec_.hidden_size = 8;
    spec_.num_attention_heads = 1;
    parameters_ = {{"a", {2, 8}, 0, 16, -1, true, {}}, {"b", {8}, 16, 8, -1, true, {}}};
  }

  void Set(int64_t step) {
    for (int64_t i = 0; i < kElements; ++i) {
      const auto value = static_cast<float>(step * 100 + i);
      weights_[static_cast<size_t>(i)] = value;
      moment_1_[static_cast<size_t>(i)] = -value;
      moment_2_[static_cast<size_t>(i)] = value / 2;
    }
  }
  bool Is(int64_t step) const {
    SmallState other;
    other.Set(step);
    return weights_ == other.weights_ && moment_1_ == other.moment_1_ && moment_2_ == other.moment_2_;
  }
  train::ModelState View() { return {spec_, parameters_, weights_, moment_1_, moment_2_}; }
  std::vector<float>& weights() { return weights_; }

 private:
  ModelSpec spec_;
  std::vector<plan::Parameter> parameters_;
  std::vector<float> weights_ = std::vector<float>(kElements);
  std::vector<float> moment_1_ = std::vector<float>(kElements);
  std::vector<float> moment_2_ = std::vector<float>(kElements);
};

inline MetricRow HistoryRow(int64_t step) {
  MetricRow row;
  row.step = step;
  row.loss = 1.0 / static_cast<double>(step);
  return row;
}

// One attempt after another on one file system, as worker and daemon would do it: a checkpoint every other
// step, in the background, with room for a snapshot or without. Validation is best at step 2.
class History {
 public:
  History(Io* io, std::string directory, bool with_snapshot)
      : io_(*io), memory_(with_snapshot ? SmallState::kBytes : 0) {
    task_.job = 7;
    task_.training.keep_checkpoints = kHistoryKeep;
    task_.training.checkpoint_every_steps = 2;
    task_.checkpoint_directory = std::move(directory);
  }

  // From the newest usable checkpoint to step `end`. Stops at the first error that a run would not survive.
  Status Attempt(int64_t end) {
    ++task_.attempt;
    TRAIND_TRY(io_.MakeDirectories(task_.checkpoint_directory));
    TRAIND_TRY(RemoveTemporaries(io_, task_.checkpoint_directory));
    TRAIND_ASSIGN(const std::optional<train::FoundCheckpoint> found, Newest());
    format::Manifest manifest;
    if (found) {
      manifest = found->manifest;
      TRAIND_TRY(ReadCheckpointState(io_, found->path, manifest, state_.View(), [] {}));
      assert_true(state_.Is(manifest.step));
    }
    NoDevice device;
    ScriptedSession session;
    const train::RunEnvironment environment{io_, SystemClock(), device, session,
                                            std::to_string(task_.attempt)};
    train::Checkpoints checkpoints(task_, environment, found ? found->path : "", manifest, memory_);
    manifest.files.clear();
    manifest.optimizer.clear();
    const auto land = [&] {
      const auto ended = checkpoints.AwaitEnd();
      if (ended && ended->status.ok()) durable_.insert(ended->step);
      if (ended && ended->status.ok() && told != nullptr) *told = ended->step;
      if (ended && !ended->status.ok()) ++failed_saves_;
      checkpoints.Acknowledge(session.now.saved_step);
    };
    while (manifest.step < end) {
      checkpoints.AwaitTaken();  // or the update would change what is being saved
      ++manifest.step;
      manifest.cursor.position = manifest.step;
      manifest.attempt = task_.attempt;
      manifest.val_loss = manifest.step == 2 ? 1.0 : 2.0;
      manifest.validated_step = manifest.step;
      state_.Set(manifest.step);
      checkpoints.Add(HistoryRow(manifest.step));
      if (!checkpoints.IsDue(manifest.step, false)) continue;
      land();
      checkpoints.Begin(manifest, state_.View());
    }
    land();
    return Ok();
  }

  Result<std::optional<train::FoundCheckpoint>> Newest() {
    TRAIND_ASSIGN(const auto checkpoints, format::ListCheckpoints(io_, task_.checkpoint_directory));
    if (checkpoints.empty()) return std::optional<train::FoundCheckpoint>();
    return train::FindUsableCheckpoint(io_, checkpoints.front().path);
  }

  // What must hold whenever the file system is readable. `newest_told` is what the daemon was told of,
  // -1 if it is not known.
  void Check(int64_t newest_told) {
    const auto newest = Newest();
    assert_ok(newest);
    if (newest_told >= 0) {
      assert_true(newest->has_value());
      assert_true((*newest)->manifest.step >= newest_told);
    }
    const auto checkpoints = format::ListCheckpoints(io_, task_.checkpoint_directory);
    if (!checkpoints.ok()) {
      assert_true(durable_.empty());
      return;
    }
    int64_t complete = 0;
    for (const format::CheckpointDirectory& checkpoint : *checkpoints) {
      const auto manifest = format::ReadCheckpoint(io_, checkpoint.path);
      // Under its name it is whole, whatever happened.
      assert_ok(manifest);
      assert_ok(format::VerifyChecksums(io_, checkpoint.path, *manifest));
      SmallState loaded;
      assert_ok(ReadCheckpointState(io_, checkpoint.path, *manifest, loaded.View(), [] {}));
      assert_true(loaded.Is(checkpoint.step));
      const auto rows = train::ReadCheckpointMetrics(io_, checkpoint.path);
      assert_ok(rows);
      assert_true(rows->back().step == checkpoint.step);
      ++complete;
    }
    assert_true(complete >= std::min<int64_t>(kHistoryKeep, std::ssize(durable_)));
  }
  void Check() { Check(durable_.empty() ? -1 : *durable_.rbegin()); }

  int64_t* told = nullptr;  // gets each step that is told: for a process that is to die

  int64_t failed_saves() const { return failed_saves_; }
  const std::set<int64_t>& durable() const { return durable_; }

 private:
  Io& io_;
  TrainTask task_;
  SmallState state_;
  std::vector<std::byte> memory_;
  std::set<int64_t> durable_;  // that the daemon was told of
  int64_t failed_saves_ = 0;
};

}  // namespace traind::testing
