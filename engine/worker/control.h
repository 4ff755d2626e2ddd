// Control: the worker's end of the socket to the daemon.
//
// Two threads of its own keep everybody else from waiting: one reads messages as they come, one writes what
// has been queued. Training queues and polls under a mutex that is never held over a system call.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/spec/task.h"
#include "engine/train/session.h"

namespace traind::worker {

// All functions may be called from any thread.
class Control {
 public:
  // `descriptor` is the socket (borrowed, stays open).
  explicit Control(int descriptor);
  // Ends both threads; what is queued and unsent is dropped (see Flush).
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // The first message, which is the task: waits for it up to `timeout_seconds`. nullopt if none came or the
  // daemon is gone.
  std::optional<Json> WaitForTask(double timeout_seconds);

  // What has been asked for since; SIGTERM counts as a stop for shutdown once RequestShutdown was called.
  train::Requests requests() const;
  void CheckpointAnswered();
  // Async-signal-safe.
  static void RequestShutdown();

  // Queues a message, after all rows queued before it.
  void Send(const Json& message);
  // The same, but dropped if the daemon is behind: for what the next message of its kind replaces.
  void SendIfRoom(const Json& message);
  // Queues a metrics row; rows travel together, a tenth of a second late at most.
  void SendMetrics(const MetricRow& row);

  // Waits until all that is queued has been written; false after `timeout_seconds` or if the daemon is gone.
  bool Flush(double timeout_seconds);

 private:
  void ReadLoop();
  void WriteLoop();
  void Take(const Json& message);
  void QueueRows();
  bool Write(const std::string& bytes) const;
  void MarkGone();

  const int descriptor_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  bool gone_ = false;

  std::optional<Json> task_;
  train::Requests requests_;

  std::string outbox_;
  std::vector<MetricRow> rows_;
  bool writing_ = false;

  int wake_[2] = {-1, -1};  // a pipe that ends the reader's wait
  std::thread reader_;
  std::thread writer_;
};

}  // namespace traind::worker
