// From the queue to a running worker: choosing the job, fencing, adopting, planning with what is free now,
// committing the attempt, spawning. On a pool thread, in this order, so that a crash at any point leaves
// either a queued job or a committed attempt without a process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "daemon/jobs/jobs.h"
#include "daemon/statement.h"
#include "daemon/supervisor/spawn.h"
#include "engine/base/status.h"
#include "engine/plan/planner.h"
#include "engine/spec/task.h"

namespace traind::daemon {

using DeviceKey = std::pair<std::string, int64_t>;  // node, index
std::string DeviceName(const DeviceKey& key);       // "local:0"

struct QueueView {
  std::map<DeviceKey, std::string> busy;  // device → who holds it, for the others' reason
  std::set<int64_t> resting;              // jobs in their back-off: they keep their place
  std::string worker_program;
  double deadline_scale = 1;
};

struct Launch {
  JobRecord job;
  int64_t attempt = 0;
  DeviceKey device;
  plan::Plan plan;
  TrainTask task;
  int64_t start_step = 0;
  SpawnedWorker worker;  // pid 0: could not be spawned, `failure` says why
  Status failure;
};

struct QueuePass {
  std::optional<Launch> launch;
  std::vector<int64_t> changed;         // jobs whose state or reason was changed
  std::optional<int64_t> fenced;        // the job whose earlier attempt still lives
  std::optional<double> again_seconds;  // look again after this long, although nothing may have changed
};

// Looks at the queue, oldest first, and starts at most one attempt.
Result<QueuePass> RunQueue(Reader& reader, const DaemonState& daemon, const QueueView& view);

// The output file of a job's workers, opened for appending.
Result<Descriptor> OpenWorkerLog(const std::string& path);
std::string WorkerLogPath(const JobRecord& job);
std::string AttemptLockPath(const JobRecord& job);

}  // namespace traind::daemon
