// The saving side of a run: when a checkpoint is due, what has been saved, and what the daemon knows of it.
//
// One writer thread does all of it, one thing after the other: snapshot, files, publication, retention. While
// it works the run goes on; only an update of weights and moments waits until the state that is being saved
// has been taken. With memory for a whole snapshot that is a copy; without, it is when the last byte has been
// handed to the system, before what makes it durable. So a checkpoint never holds values of two steps.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "engine/format/manifest.h"
#include "engine/spec/task.h"
#include "engine/train/model_state.h"
#include "engine/train/run.h"
#include "engine/train/writer_thread.h"

namespace traind::train {

// Used by the run's thread. What it is given is borrowed.
class Checkpoints {
 public:
  // `resumed_path` is the checkpoint that the run goes on from, with its manifest, or empty. `snapshot` holds
  // one state, or nothing.
  Checkpoints(const TrainTask& task, const RunEnvironment& environment, std::string resumed_path,
              const format::Manifest& resumed, std::span<std::byte> snapshot);
  // Finishes what is being written, or after Abandon stops it.
  ~Checkpoints();

  // A step's row: part of every checkpoint until the daemon has acknowledged one that holds it.
  void Add(const MetricRow& row) { rows_.push_back(row); }

  // Whether the task's CHECKPOINT EVERY asks for one now, after `step`; `best`: its validation is the best so
  // far, which brings a checkpoint by time forward, but not to less than a quarter of its interval.
  bool IsDue(int64_t step, bool best) const;
  // Seconds since the state of the newest checkpoint, or the run's begin: what would be lost.
  double SecondsAtRisk() const;
  const std::string& newest() const { return path_; }

  // How the writing of a checkpoint ended.
  struct End {
    int64_t step = 0;
    Status status;  // NON_FINITE if a weight or moment is no number: such a state is never published
    double stall_seconds = 0;  // that the run's thread waited for it
  };

  // Begins to save `state`, which belongs to `manifest`, in the background: true; false if the newest
  // checkpoint, or the one being written, is of that step. Must not be called while another is being written.
  bool Begin(const format::Manifest& manifest, const ModelState& state);
  // The step that is being written.
  std::optional<int64_t> writing() const;
  // Whether the state given to Begin is still read: then an update must wait.
  bool IsTaking() const;
  void AwaitTaken();
  // The end of the one that was begun, once it is known. A written one has been told to the session; after a
  // failure nothing has changed.
  std::optional<End> TakeEnd();
  // The same, waiting for it; nullopt if none was begun.
  std::optional<End> AwaitEnd();
  // Stops what is being written: nobody wants it any more.
  void Abandon();

  // If the newest checkpoint is of this step, tells the session of it once more, for who asked for one.
  bool TellIfNewest(int64_t step);

  // Takes note of what the daemon has committed: its rows need not be kept, older checkpoints may go.
  void Acknowledge(std::optional<int64_t> saved_step);
  // Waits a moment for the acknowledgement of the newest checkpoint.
  void AwaitAcknowledgement();

 private:
  struct Flight;

  void Wait(bool until_taken);
  std::optional<End> Land();
  void Tell(const CheckpointReport& report);

  const TrainTask& task_;
  const RunEnvironment& environment_;
  const std::span<std::byte> snapshot_;
  std::deque<MetricRow> rows_;   // grows in small pieces: training allocates no large ones
  int64_t resumed_step_ = -1;    // of this job's directory
  std::set<int64_t> written_;    // here, or found intact where one was to be written
  std::string path_;             // of the newest
  std::optional<int64_t> step_;  // of the newest
  CheckpointReport told_;        // of the newest, if it was written here
  bool awaited_ = false;         // told, not yet acknowledged
  int64_t acknowledged_step_ = -1;
  double attempt_seconds_;  // of the last save that was tried
  double success_seconds_;  // of the newest checkpoint's state
  std::shared_ptr<Flight> flight_;
  WriterThread writer_;  // last: ended first
};

}  // namespace traind::train
