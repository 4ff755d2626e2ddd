// Changes of a job's state, its requests, and its events.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/catalog/row.h"
#include "daemon/jobs/jobs.h"

namespace traind::daemon {
namespace {

struct StateRow {
  int64_t id = 0;
  std::string name;
  JobState state = JobState::kQueued;
  std::string request;

  std::string Display() const {
    return name.empty() ? fmt::format("job {}", id) : fmt::format("job {} ({})", id, name);
  }
};

Result<StateRow> LoadState(Connection& connection, int64_t job) {
  TRAIND_ASSIGN(const auto cells,
                connection.QueryRow("SELECT id, name, state, request FROM main._jobs WHERE id = ?1", {job}));
  if (!cells) {
    return Status(ErrorCode::NO_SUCH_JOB, fmt::format("there is no job {}", job), "SHOW JOBS lists them");
  }
  RowReader row(*cells);
  StateRow state;
  state.id = row.Int();
  state.name = row.Text();
  TRAIND_ASSIGN(state.state, ParseJobState(row.Text()));
  state.request = row.Text();
  return state;
}

Status WrongState(const StateRow& job, std::string_view wanted) {
  const JobStateInfo& info = InfoOf(job.state);
  return {ErrorCode::WRONG_STATE,
          fmt::format("{} is {} ({}): it cannot be {}", job.Display(), info.name, info.meaning, wanted),
          info.continue_with.empty() ? std::string()
                                     : fmt::format("{} JOB {} goes on with it", info.continue_with, job.id)};
}

// A job whose worker has gone is not queued again if a user has asked for a pause or a cancel meanwhile.
JobChange Effective(JobChange change, std::string_view request) {
  if (change != JobChange::kRequeue) return change;
  if (request == JobRequestName(JobRequest::kPause)) return JobChange::kPause;
  if (request == JobRequestName(JobRequest::kCancel)) return JobChange::kCancel;
  return change;
}

// A checkpoint asked of a job that goes back to the queue is still wanted.
bool KeepsRequest(JobState next, std::string_view request) {
  if (request == JobRequestName(JobRequest::kCheckpoint)) {
    return next == JobState::kQueued || InfoOf(next).has_devices;
  }
  return InfoOf(next).has_devices;
}

int Rank(std::string_view request) {
  if (request == JobRequestName(JobRequest::kCancel)) return 3;
  if (request == JobRequestName(JobRequest::kPause)) return 2;
  return request == JobRequestName(JobRequest::kCheckpoint) ? 1 : 0;
}

}  // namespace

Result<JobState> Apply(Transaction& transaction, int64_t job, JobChange change, std::string_view reason,
                       double now) {
  TRAIND_ASSIGN(const StateRow row, LoadState(transaction, job));
  const JobChange effective = Effective(change, row.request);
  const std::optional<JobState> next = NextState(row.state, effective);
  if (!next) {
    const auto infos = AllJobChanges();
    return WrongState(row, std::ranges::find(infos, change, &JobChangeInfo::change)->done);
  }
  const JobStateInfo& info = InfoOf(*next);
  TRAIND_TRY(
      transaction.Run("UPDATE _jobs SET state = ?2, reason = ?3, request = ?4, "
                      "started_at = CASE WHEN ?5 THEN coalesce(started_at, ?6) ELSE started_at END, "
                      "ended_at = CASE WHEN ?7 THEN ?6 ELSE NULL END, "
                      "retries_left = CASE WHEN ?8 THEN max_retries ELSE retries_left END WHERE id = ?1",
                      {job, std::string(info.name), std::string(reason),
                       KeepsRequest(*next, row.request) ? row.request : std::string(),
                       int64_t{effective == JobChange::kStart}, now, int64_t{info.terminal},
                       int64_t{effective == JobChange::kRetry || effective == JobChange::kResume}}));
  const std::string detail =
      reason.empty() ? std::string(info.name) : fmt::format("{}: {}", info.name, reason);
  TRAIND_TRY(AddEvent(transaction, job, "state", detail, now));
  return *next;
}

Status SetRequest(Transaction& transaction, int64_t job, JobRequest request, double now) {
  TRAIND_ASSIGN(const StateRow row, LoadState(transaction, job));
  if (request != JobRequest::kNone) {
    if (!InfoOf(row.state).has_devices)
      return WrongState(row, fmt::format("asked to {}", JobRequestName(request)));
    if (Rank(row.request) >= Rank(JobRequestName(request))) return {};
    TRAIND_TRY(AddEvent(transaction, job, "request", JobRequestName(request), now));
  }
  return transaction.Run("UPDATE _jobs SET request = ?2 WHERE id = ?1",
                         {job, std::string(JobRequestName(request))});
}

Status SetReason(Transaction& transaction, int64_t job, std::string_view reason) {
  return transaction.Run("UPDATE _jobs SET reason = ?2 WHERE id = ?1", {job, std::string(reason)});
}

Status AddEvent(Transaction& transaction, int64_t job, std::string_view kind, std::string_view detail,
                double now) {
  return transaction.Run("INSERT INTO _events(job_id, time, kind, detail) VALUES (?1,?2,?3,?4)",
                         {job, now, std::string(kind), std::string(detail)});
}

}  // namespace traind::daemon
