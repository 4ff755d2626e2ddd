// The part of a job's row that waits and follows look at.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/catalog/catalog.h"
#include "daemon/jobs/jobs.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

struct JobStatus {
  int64_t id = 0;
  std::string name;
  JobState state = JobState::kQueued;
  std::string reason;
  int64_t step = 0;
  int64_t total_steps = 0;
};

// NO_SUCH_JOB if it is not there.
Result<JobStatus> ReadJobStatus(Connection& connection, int64_t job);

// "job 7 (nightly)", or "job 7".
std::string JobTitle(const JobStatus& job);

// How a wait for a job in this terminal or stopped state ends: OK, JOB_FAILED, JOB_CANCELLED, BUDGET_EXCEEDED
// or JOB_STOPPED, with the job's reason.
Status WaitResultOf(const JobStatus& job);

// PAUSED, HELD and STALLED: the job does not end by itself.
bool IsStopped(JobState state);

}  // namespace traind::daemon
