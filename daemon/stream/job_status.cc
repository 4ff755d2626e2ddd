// Reading a job's state, and what it means for those who wait.
#include "daemon/stream/job_status.h"

#include <fmt/format.h>

#include <utility>

namespace traind::daemon {
namespace {

std::string Described(const JobStatus& job) {
  std::string text = fmt::format("{} is {} at step {}", JobTitle(job), JobStateName(job.state), job.step);
  if (!job.reason.empty()) text += ": " + job.reason;
  return text;
}

}  // namespace

Result<JobStatus> ReadJobStatus(Connection& connection, int64_t job) {
  TRAIND_ASSIGN(const auto row,
                connection.QueryRow("SELECT name, state, reason, max(step, coalesce((SELECT max(m.step) FROM "
                                    "metrics._metrics m WHERE m.job_id = ?1), 0)), total_steps "
                                    "FROM main._jobs WHERE id = ?1",
                                    {job}));
  if (!row) return Status(ErrorCode::NO_SUCH_JOB, fmt::format("there is no job {}", job));
  JobStatus status;
  status.id = job;
  status.name = std::get<std::string>((*row)[0]);
  TRAIND_ASSIGN(status.state, ParseJobState(std::get<std::string>((*row)[1])));
  status.reason = std::get<std::string>((*row)[2]);
  status.step = std::get<int64_t>((*row)[3]);
  status.total_steps = std::get<int64_t>((*row)[4]);
  return status;
}

std::string JobTitle(const JobStatus& job) {
  return job.name.empty() ? fmt::format("job {}", job.id) : fmt::format("job {} ({})", job.id, job.name);
}

bool IsStopped(JobState state) {
  return state == JobState::kPaused || state == JobState::kHeld || state == JobState::kStalled;
}

Status WaitResultOf(const JobStatus& job) {
  const std::string detail = DumpJson(Json{{"job", job.id}, {"state", JobStateName(job.state)}});
  switch (job.state) {
    case JobState::kFailed:
      return Status(
                 ErrorCode::JOB_FAILED, Described(job),
                 fmt::format("SHOW LOGS FOR JOB {0}; RETRY JOB {0} goes on from its last checkpoint", job.id))
          .With(detail);
    case JobState::kCancelled:
      return Status(ErrorCode::JOB_CANCELLED, Described(job),
                    fmt::format("RESUME JOB {} continues it", job.id))
          .With(detail);
    case JobState::kBudgetExceeded:
      return Status(ErrorCode::BUDGET_EXCEEDED, Described(job),
                    fmt::format("ALTER JOB {0} SET BUDGET (…); RESUME JOB {0} continues it", job.id))
          .With(detail);
    case JobState::kPaused:
    case JobState::kHeld:
    case JobState::kStalled:
      return Status(ErrorCode::JOB_STOPPED, Described(job), fmt::format("RESUME JOB {} continues it", job.id))
          .With(detail);
    default:
      return Ok();
  }
}

}  // namespace traind::daemon
