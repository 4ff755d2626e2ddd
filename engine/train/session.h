// Session: what a run hears from, and tells to, whoever started it. The worker's is the control socket.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/spec/task.h"

namespace traind::train {

enum class StopReason {
  kPause,
  kCancel,
  kBudget,
  kShutdown,
  kDaemonGone,  // nobody listens any more
};

// "pause"; as in "finished" messages. The daemon's absence ends like a shutdown.
std::string_view StopReasonName(StopReason reason);
// nullopt for a name that no "stop" message has.
std::optional<StopReason> ParseStopReason(std::string_view name);

// What is asked for now. A stop stays until the run ends, a checkpoint until it is answered.
struct Requests {
  bool checkpoint = false;
  std::optional<StopReason> stop;
  std::optional<int64_t> saved_step;  // the newest checkpoint whose row is committed
  bool listener_gone = false;         // no answer will come
};

// What was found in one source of data.
struct SourceCounts {
  int64_t tokens = 0;
  int64_t documents = 0;
  int64_t files = 0;
  int64_t bytes = 0;       // of its files
  int64_t text_bytes = 0;  // of its documents; 0 if it came as tokens
  int64_t largest_token = 0;
};
struct DataCounts {
  std::vector<SourceCounts> sources;

  // The sum over the sources of one of their counts.
  int64_t Total(int64_t SourceCounts::*count) const {
    int64_t total = 0;
    for (const SourceCounts& source : sources) total += source.*count;
    return total;
  }
};

// A checkpoint that is written.
struct CheckpointReport {
  int64_t step = 0;
  std::string path;
  int64_t bytes = 0;
  int64_t total_steps = 0;
  std::optional<double> val_loss;  // measured at this step
  double seconds = 0;              // from its begin to its publication; 0 if it was found there
  double stall_seconds = 0;        // of these training waited
};

// Used by the run's thread only. No call blocks on the listener.
class Session {
 public:
  virtual ~Session() = default;

  virtual Requests Poll() = 0;
  // The checkpoint that was asked for is written, or could not be; either has been told before.
  virtual void CheckpointAnswered() = 0;

  virtual void Preparing(int64_t done_bytes, int64_t total_bytes) = 0;
  virtual void Prepared(const DataCounts& data, const std::optional<DataCounts>& validation,
                        int64_t total_steps) = 0;
  virtual void Running(std::string_view plan_hash, int64_t arena_bytes, int64_t start_step) = 0;
  virtual void Metrics(const MetricRow& row) = 0;
  virtual void CheckpointWritten(const CheckpointReport& report) = 0;
  // The run goes on without it.
  virtual void CheckpointFailed(int64_t step, const Status& status) = 0;
  virtual void TotalSteps(int64_t total_steps) = 0;
  virtual void Message(LogLevel level, std::string_view text) = 0;
  // All of a generation's text so far that will not change.
  virtual void Text(std::string_view) {}

  // What is being done now, and how long it may take without progress.
  virtual void Doing(std::string_view instruction, int64_t step, double deadline_seconds) = 0;
  // A piece of work that is no operator is done: progress.
  virtual void Advance() = 0;
  // Counts as progress from now on; nullptr ends it. Borrowed.
  virtual void Watch(const std::atomic<int64_t>* completed_operators) = 0;
};

}  // namespace traind::train
