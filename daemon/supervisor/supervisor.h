// The supervisor: owns every worker process. It takes jobs off the queue, runs their attempts, carries out
// what users ask of them, and runs the workers of statements such as GENERATE. On the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/loop.h"
#include "daemon/pool.h"
#include "daemon/statement.h"
#include "daemon/stream/hub.h"
#include "daemon/supervisor/attempt.h"
#include "daemon/supervisor/children.h"
#include "daemon/supervisor/launch.h"
#include "daemon/supervisor/task_run.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

// Before anything else at start, on the main thread: ends the attempts that the last daemon left open and
// queues their jobs again (or carries out the pause or cancel asked for).
Status RecoverJobs(Catalog& catalog, double now);

class Supervisor {
 public:
  // `deadline_scale` is a test setting: it scales the deadlines of instructions.
  Supervisor(Loop* loop, Pool* pool, Hub* hub, Children* children, const DaemonState* daemon,
             std::string worker_program, double deadline_scale);
  ~Supervisor();

  // From now on jobs are started. Until then they only queue.
  void OpenAdmission();

  // The job's row has changed; committed.
  void JobChanged(int64_t job);

  // Stops every attempt with a checkpoint and every task run, starts nothing more, then calls `stopped` with
  // [{"job":1,"step":n}…] of the jobs that are to go on later.
  void Stop(std::function<void(Json stopped)> stopped);
  // Lets go of all workers at once.
  void Abandon();

  // Runs a worker statement. `done` is called once, later, with the worker's "result" message or why there is
  // none; not after CancelTask. `progress` is called before, with what the worker tells of its work.
  int64_t RunTask(Json task, std::function<void(const Json&)> progress,
                  std::function<void(const Result<Json>&)> done);
  void CancelTask(int64_t run);

  // From any thread.
  bool DeviceBusy(const std::string& node, int64_t index) const;
  int64_t ReservedBytes() const;

  bool idle() const { return attempts_.empty() && tasks_.empty() && !passing_; }

 private:
  void LookAtQueue();
  void Passed(Result<QueuePass> pass);
  void Fence(std::optional<int64_t> job);
  void Concluded(int64_t job, const Verdict& verdict);
  void Rest(int64_t job, const Verdict& verdict);
  void TendStalled();
  void StartTasks();
  void UpdateBusy();
  void FinishStop();

  SupervisorTools tools_;
  const std::string worker_program_;
  std::map<int64_t, std::unique_ptr<Attempt>> attempts_;
  std::map<int64_t, std::unique_ptr<TaskRun>> tasks_;
  int64_t last_task_ = 0;

  Timer again_;    // looks at the queue later
  Timer stalled_;  // looks whether stalled jobs can go on
  bool open_ = false;
  bool passing_ = false;  // a pass over the queue is under way
  bool pass_again_ = false;
  bool tending_ = false;
  bool maybe_stalled_ = true;  // some job may be STALLED
  bool stopping_ = false;
  std::map<int64_t, double> resting_;  // job → when its back-off ends
  std::optional<int64_t> fenced_;
  double fenced_since_ = 0;
  std::function<void(Json)> stopped_;
  std::shared_ptr<Supervisor*> self_;  // what pool work holds; null once this is gone

  mutable std::mutex mutex_;
  std::map<DeviceKey, std::string> busy_;  // guarded by mutex_: device → who holds it
  int64_t reserved_bytes_ = 0;             // guarded by mutex_
};

}  // namespace traind::daemon
