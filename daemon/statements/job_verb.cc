// PAUSE, RESUME, CANCEL, CHECKPOINT, RETRY JOB: at once where no worker runs, else as a request to the
// supervisor.
#include <fmt/format.h>

#include "daemon/bind/job.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

using Verb = grammar::JobVerb::Verb;

std::string_view Reason(Verb verb) {
  switch (verb) {
    case Verb::kPause:
      return "paused by the user";
    case Verb::kCancel:
      return "cancelled by the user";
    case Verb::kResume:
      return "resumed by the user";
    case Verb::kRetry:
      return "retried by the user";
    case Verb::kCheckpoint:
      break;
  }
  return "";
}

// A job that goes on makes the next version again: nobody else may be at that, and the models must be there.
Status CheckMayGoOn(Transaction& transaction, const JobRecord& job) {
  for (const int64_t model : {job.model_id, job.target_model_id}) {
    TRAIND_ASSIGN(const auto row, transaction.QueryRow("SELECT id FROM _models WHERE id = ?1", {model}));
    if (row) continue;
    return {ErrorCode::NO_SUCH_MODEL,
            fmt::format("the model {} of {} was dropped",
                        model == job.model_id ? job.model : job.target_model, job.Display())};
  }
  if (!InfoOf(job.state).terminal) return {};
  return CheckNotBusy(transaction, job.target_model_id, job.target_model, false);
}

// It would stop again at once.
Status CheckBudgetLeft(const JobRecord& job, double now) {
  const Budget& budget = job.budget;
  const double hours = job.gpu_seconds / 3600;
  std::string spent;
  if (budget.wall_clock_seconds && job.used_seconds >= *budget.wall_clock_seconds) spent = "wall_clock";
  if (budget.gpu_hours && hours >= *budget.gpu_hours) spent = "gpu_hours";
  if (budget.deadline && now >= *budget.deadline) spent = "DEADLINE";
  if (spent.empty() || budget.action == LimitAction::kWarn) return {};
  return {ErrorCode::BUDGET_TOO_SMALL, fmt::format("{} has used up its budget ({})", job.Display(), spent),
          fmt::format("ALTER JOB {} SET BUDGET (…) first", job.id)};
}

Status Continue(Transaction& transaction, const JobRecord& job, JobChange change, std::string_view reason,
                double now) {
  // A wrong state is said first: whatever else is missing would not help.
  if (!NextState(job.state, change)) return Apply(transaction, job.id, change, reason, now).status();
  TRAIND_TRY(CheckMayGoOn(transaction, job));
  TRAIND_TRY(CheckBudgetLeft(job, now));
  return Apply(transaction, job.id, change, reason, now).status();
}

Status RunVerb(Transaction& transaction, Verb verb, int64_t id, double now) {
  TRAIND_ASSIGN(const JobRecord job, LoadJob(transaction, id));
  const bool has_worker = InfoOf(job.state).has_devices;
  switch (verb) {
    case Verb::kPause:
      if (has_worker) return SetRequest(transaction, id, JobRequest::kPause, now);
      return Apply(transaction, id, JobChange::kPause, Reason(verb), now).status();
    case Verb::kCancel:
      if (has_worker) return SetRequest(transaction, id, JobRequest::kCancel, now);
      return Apply(transaction, id, JobChange::kCancel, Reason(verb), now).status();
    case Verb::kCheckpoint:
      return SetRequest(transaction, id, JobRequest::kCheckpoint, now);
    case Verb::kResume:
      return Continue(transaction, job, JobChange::kResume, Reason(verb), now);
    case Verb::kRetry:
      break;
  }
  return Continue(transaction, job, JobChange::kRetry, Reason(verb), now);
}

}  // namespace

// All of the statement's jobs or none.
Result<Outcome> Run(const grammar::JobVerb& statement, const Context& context) {
  TRAIND_ASSIGN(const std::vector<FoundJob> jobs, FindJobs(statement.jobs, context));
  if (context.check) return Done(Reply{});
  const Status written = context.daemon.catalog->Write([&](Transaction& transaction) -> Status {
    for (const FoundJob& job : jobs) {
      Status done = RunVerb(transaction, statement.verb, job.id, Now(context));
      if (!done.ok()) return std::move(done).At(job.position);
      transaction.AfterCommit([changed = context.daemon.job_changed, id = job.id] {
        if (changed) changed(id);
      });
    }
    return {};
  });
  if (!written.ok()) return written;
  TRAIND_ASSIGN(Reply reply, JobStateReply(context.reader, IdsOf(jobs)));
  return Done(std::move(reply));
}

}  // namespace traind::daemon
