// One attempt of a job from its worker's start to its committed end. On the loop.
//
// What the worker says goes to the catalog in the order in which it was said; the budget is metered here; a
// stop is carried out at an instruction's border by the worker itself, or by force when it does not.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/jobs/jobs.h"
#include "daemon/loop.h"
#include "daemon/pool.h"
#include "daemon/statement.h"
#include "daemon/stream/hub.h"
#include "daemon/supervisor/children.h"
#include "daemon/supervisor/ending.h"
#include "daemon/supervisor/launch.h"
#include "daemon/supervisor/meter.h"
#include "daemon/supervisor/worker_log.h"
#include "daemon/supervisor/worker_process.h"

namespace traind::daemon {

// What attempts and task runs use of the daemon.
struct SupervisorTools {
  Loop* loop = nullptr;
  Pool* pool = nullptr;  // the supervisor's own: users' statements cannot hold it up
  Hub* hub = nullptr;
  Children* children = nullptr;
  const DaemonState* daemon = nullptr;
  double deadline_scale = 1;
};

// Removes what the process `worker`, which has ended, left half written among the token caches.
void RemoveCacheTemporaries(const SupervisorTools* tools, pid_t worker);

class Attempt {
 public:
  // `concluded` is called once, when the end is committed; it may destroy the attempt.
  Attempt(const SupervisorTools* tools, Launch launch, std::function<void(const Verdict&)> concluded);
  ~Attempt();

  // The job's row has changed: carries out its request, takes over its budget.
  void Refresh();
  // Tells the worker to stop; a cancel outranks what it was told before.
  void Stop(StopReason reason, std::string detail);
  // Lets go of the worker without waiting for it: it stops by itself.
  void Abandon();

  const JobRecord& job() const { return job_; }
  const DeviceKey& device() const { return device_; }
  int64_t reserved_bytes() const { return reserved_bytes_; }
  int64_t step() const { return progress_.step; }

 private:
  // Messages of the worker (attempt_messages.cc).
  void Received(const Json& message);
  void TakeHello(const Json& message);
  void TakePreparing(const Json& message);
  void TakePrepared(const Json& message);
  void TakeRunning(const Json& message);
  void TakeMetrics(const Json& message);
  void TakeCheckpoint(const Json& message);
  void TakeCheckpointFailed(const Json& message);
  void TakeTotalSteps(const Json& message);
  void TakeLog(const Json& message);
  void TakeFinished(const Json& message);
  void TakeFailed(const Json& message);
  void MarkUnread(int64_t planned);
  void CheckpointCommitted(int64_t step, const Status& status);

  // Time and budget.
  double Elapsed() const;
  void Tick();
  void MeterUsage();
  void MeterBudget();
  void ApplyLimit(const BudgetMeter::Mark& mark);
  void WarnOfPace();
  void EnforceStop();

  void TakeRecord(const JobRecord& record);
  void Write(std::function<Status(Transaction&)> work, std::function<void(const Status&)> done = nullptr);
  void Event(std::string kind, std::string detail);
  void Changed();

  // The end.
  void WorkerEnded(const WorkerEnding& ending);
  void Conclude();
  void Concluded(const Result<Verdict>& verdict);

  const SupervisorTools* const tools_;
  JobRecord job_;
  const int64_t number_;
  const DeviceKey device_;
  const double price_per_hour_;
  const int64_t reserved_bytes_;
  const std::string resumed_from_;
  std::function<void(const Verdict&)> concluded_;
  std::shared_ptr<Attempt*> self_;  // what other threads' work holds; null once this is gone
  std::unique_ptr<WorkerProcess> worker_;
  WorkerLog log_;
  BudgetMeter meter_;
  Timer tick_;
  Timer conclude_again_;

  JobProgress progress_;
  std::optional<MetricRow> last_row_;
  double began_ = 0;          // monotonic
  double running_since_ = 0;  // monotonic; 0: not yet
  int64_t start_step_ = 0;
  double metered_ = 0;  // seconds of this attempt that are in the catalog
  bool metering_ = false;
  bool refreshing_ = false;
  bool refresh_again_ = false;
  bool limit_applied_ = false;
  bool checkpoint_asked_ = false;
  bool checkpoint_failing_ = false;  // the newest one could not be written, and an event says so
  StopReason stop_ = StopReason::kNone;
  std::string stop_detail_;
  double stop_at_ = 0;      // when it was told
  double finished_at_ = 0;  // when it said so
  bool worker_ended_ = false;
  int writes_under_way_ = 0;
  int conclude_tries_ = 0;
  AttemptEnding ending_;
};

}  // namespace traind::daemon
