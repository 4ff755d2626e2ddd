// The saving side of a run: when a checkpoint is due, what has been saved, and what the daemon knows of it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "engine/base/status.h"
#include "engine/format/manifest.h"
#include "engine/spec/task.h"
#include "engine/train/model_state.h"
#include "engine/train/run.h"

namespace traind::train {

// Used by the run's thread. What it is given is borrowed.
class Checkpoints {
 public:
  // `resumed_path` is the checkpoint that the run goes on from, with its manifest, or empty.
  Checkpoints(const TrainTask& task, const RunEnvironment& environment, std::string resumed_path,
              const format::Manifest& resumed);

  // A step's row: part of every checkpoint until the daemon has acknowledged one that holds it.
  void Add(const MetricRow& row) { rows_.push_back(row); }

  // Whether the task's CHECKPOINT EVERY asks for one now, after `step`.
  bool IsDue(int64_t step) const;
  // Seconds since the newest checkpoint, or the run's begin: what would be lost.
  double SecondsAtRisk() const;
  const std::string& newest() const { return path_; }

  // Writes a checkpoint of `state` and tells the session: true; false if the newest one is of that step.
  // NON_FINITE if a weight or moment is no number: such a state is never published. After another failure
  // nothing has changed.
  Result<bool> Save(const format::Manifest& manifest, const ModelState& state);
  // If the newest checkpoint is of this state, tells the session of it once more, for who asked for one.
  void TellIfNewest(const format::Manifest& manifest);

  // Takes note of what the daemon has committed: its rows need not be kept, older checkpoints may go.
  void Acknowledge(std::optional<int64_t> saved_step);
  // Waits a moment for the acknowledgement of the newest checkpoint.
  void AwaitAcknowledgement();

 private:
  Result<format::Manifest> Write(const format::Manifest& manifest, const ModelState& state);
  void Tell(const format::Manifest& manifest);

  const TrainTask& task_;
  const RunEnvironment& environment_;
  std::deque<MetricRow> rows_;   // grows in small pieces: training allocates no large ones
  int64_t resumed_step_ = -1;    // of this job's directory
  std::set<int64_t> written_;    // here, or found intact where one was to be written
  std::string path_;             // of the newest
  std::optional<int64_t> step_;  // of the newest
  int64_t bytes_ = 0;
  bool awaited_ = false;  // told, not yet acknowledged
  int64_t acknowledged_step_ = -1;
  double attempt_seconds_;  // of the last save that was tried
  double success_seconds_;
};

}  // namespace traind::train
