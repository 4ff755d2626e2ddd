// Deciding and committing an attempt's end.
#include "daemon/supervisor/ending.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/supervisor/adopt.h"
#include "daemon/supervisor/version.h"
#include "engine/format/manifest.h"

namespace traind::daemon {
namespace {

bool BudgetIsTarget(const JobRecord& job) {
  return job.training.target == Target{};
}

std::string ReasonOf(const Status& failure) {
  std::string text = failure.ToString();
  if (!failure.hint().empty()) text += " (" + failure.hint() + ")";
  return text;
}

EndingDecision DecideBudget(const JobRecord& job, const AttemptEnding& ending) {
  if (ending.limit_action == LimitAction::kPause) return {JobChange::kPause, ending.stop_detail};
  if (ending.limit_action == LimitAction::kFail) {
    return {JobChange::kFail, "BUDGET_EXCEEDED: " + ending.stop_detail};
  }
  if (BudgetIsTarget(job)) return {JobChange::kSucceed, "", true};
  return {JobChange::kExceedBudget, ending.stop_detail, true};
}

// The worker has done what it was told, or reached its target.
EndingDecision DecideFinished(const JobRecord& job, const AttemptEnding& ending) {
  if (ending.outcome == "target") return {JobChange::kSucceed, "", true};
  if (ending.outcome == "until") return {JobChange::kSucceed, "UNTIL was reached", true};
  if (ending.outcome == "pause" && ending.stop == StopReason::kBudget) return DecideBudget(job, ending);
  if (ending.outcome == "pause") return {JobChange::kPause, ""};
  if (ending.outcome == "cancel" && ending.stop == StopReason::kBudget) return DecideBudget(job, ending);
  if (ending.outcome == "cancel") return {JobChange::kCancel, ""};
  if (ending.outcome == "budget") return DecideBudget(job, ending);
  if (ending.outcome == "shutdown")
    return {JobChange::kRequeue, "the daemon stopped; it goes on when one runs"};
  return {JobChange::kFail, fmt::format("INTERNAL: the worker finished with \"{}\"", ending.outcome)};
}

// The worker ended, for whatever cause, while it was to stop: what was asked for is done, short of a new
// save.
EndingDecision DecideStopped(const JobRecord& job, const AttemptEnding& ending) {
  switch (ending.stop) {
    case StopReason::kPause:
      return {JobChange::kPause, ""};
    case StopReason::kCancel:
      return {JobChange::kCancel, ""};
    case StopReason::kBudget:
      return DecideBudget(job, ending);
    default:
      return {JobChange::kRequeue, "the daemon stopped; it goes on when one runs"};
  }
}

EndingDecision DecideFailed(const JobRecord& job, const AttemptEnding& ending) {
  const Status failure = ending.failure.ok()
                             ? Status(ErrorCode::WORKER_DIED, "the worker left without saying how it ended")
                             : ending.failure;
  if (failure.code() == ErrorCode::DISK_FULL) return {JobChange::kStall, ReasonOf(failure)};
  if (ending.stop != StopReason::kNone) return DecideStopped(job, ending);
  if (failure.code() == ErrorCode::DAMAGED_CHECKPOINT && !ending.resumed_from.empty()) {
    EndingDecision decision{JobChange::kRequeue, ReasonOf(failure)};
    decision.damaged_resume = true;
    return decision;
  }
  // What the same attempt would meet again is not tried again; defects and the user's own data are such.
  EndingDecision decision{JobChange::kFail, ReasonOf(failure)};
  decision.take_retry = failure.info().retryable || failure.code() == ErrorCode::FENCED ||
                        failure.code() == ErrorCode::MALFORMED_FRAME;
  if (decision.take_retry) decision.change = JobChange::kRequeue;
  return decision;
}

std::string OutcomeText(const AttemptEnding& ending) {
  if (!ending.outcome.empty()) return ending.outcome;
  return ending.failure.ok() ? "WORKER_DIED" : std::string(ending.failure.info().name);
}

// Everything that is committed at once.
struct Commit {
  JobRecord job;
  EndingDecision decision;
  std::optional<PublishedVersion> version;
  int64_t newest_step = 0;  // of its complete checkpoints
};

Result<Verdict> CommitIn(Transaction& transaction, const Commit& commit, const AttemptEnding& ending,
                         double now) {
  const int64_t id = commit.job.id;
  EndingDecision decision = commit.decision;
  Verdict verdict;
  verdict.max_retries = commit.job.max_retries;
  if (ending.unmetered_seconds > 0) {
    TRAIND_TRY(AddUsage(transaction, id, ending.unmetered_seconds, ending.devices, ending.price_per_hour));
  }
  TRAIND_TRY(SetMeasured(transaction, id, ending.peak_bytes, ending.step_ms));
  if (decision.take_retry) {
    TRAIND_ASSIGN(verdict.retried, TakeRetry(transaction, id));
    verdict.retries_left = commit.job.retries_left - 1;
    if (verdict.retried) {
      TRAIND_TRY(AddEvent(
          transaction, id, "retry",
          fmt::format("{} of {} left: {}", verdict.retries_left, commit.job.max_retries, decision.reason),
          now));
    } else {
      decision.change = JobChange::kFail;
      decision.reason += fmt::format("; all {} retries are used", commit.job.max_retries);
    }
  }
  if (commit.version) {
    TRAIND_ASSIGN(const int64_t number,
                  AddVersion(transaction, commit.job, commit.version->step, commit.version->tokens,
                             commit.version->val_loss, commit.version->path, now));
    if (number != commit.version->number) {
      return Status(ErrorCode::INTERNAL,
                    fmt::format("version {} was linked as {}", number, commit.version->path));
    }
  }
  TRAIND_TRY(EndAttempt(transaction, id, ending.attempt, OutcomeText(ending), now));
  TRAIND_ASSIGN(verdict.state, Apply(transaction, id, decision.change, decision.reason, now));
  return verdict;
}

// A job that is to succeed must have something to publish.
void RequireCheckpoint(Commit* commit) {
  if (commit->version || commit->decision.change != JobChange::kSucceed) return;
  commit->decision = {JobChange::kExceedBudget,
                      "the budget was used up before a checkpoint could be written"};
  if (!BudgetIsTarget(commit->job)) {
    commit->decision = {JobChange::kFail, "INTERNAL: the worker finished without a checkpoint"};
  }
}

}  // namespace

std::string_view StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kPause:
      return "pause";
    case StopReason::kCancel:
      return "cancel";
    case StopReason::kBudget:
      return "budget";
    case StopReason::kShutdown:
      return "shutdown";
    case StopReason::kNone:
      break;
  }
  return "";
}

EndingDecision DecideEnding(const JobRecord& job, const AttemptEnding& ending) {
  return ending.outcome.empty() ? DecideFailed(job, ending) : DecideFinished(job, ending);
}

Result<Verdict> Conclude(Reader& reader, Catalog& catalog, Io& io, const std::string& state_directory,
                         int64_t job, const AttemptEnding& ending, double now) {
  Commit commit;
  TRAIND_ASSIGN(commit.job, LoadJob(reader, job));
  if (!InfoOf(commit.job.state).has_devices) {
    // Committed by an earlier try whose reply was lost.
    return Verdict{commit.job.state, false, false, commit.job.retries_left, commit.job.max_retries};
  }
  commit.decision = DecideEnding(commit.job, ending);
  TRAIND_TRY(AdoptCheckpoints(reader, catalog, io, commit.job, now).status());
  if (commit.decision.damaged_resume) {
    const auto step = format::CheckpointStep(ending.resumed_from.substr(ending.resumed_from.rfind('/') + 1));
    if (step) {
      TRAIND_TRY(SetAsideCheckpoint(catalog, io, commit.job, *step, ending.failure.message(), now));
    }
  }
  if (commit.decision.publish) {
    TRAIND_ASSIGN(const auto checkpoint, NewestCheckpoint(reader, catalog, io, commit.job, now));
    if (checkpoint) {
      TRAIND_ASSIGN(commit.version, LinkVersion(reader, io, state_directory, commit.job, *checkpoint));
    }
  }
  RequireCheckpoint(&commit);
  TRAIND_ASSIGN(const std::vector<CheckpointRecord> complete, CompleteCheckpoints(reader, job));
  if (!complete.empty()) commit.newest_step = complete.front().step;
  Verdict verdict;
  const Status committed = catalog.Write([&](Transaction& transaction) -> Status {
    TRAIND_ASSIGN(verdict, CommitIn(transaction, commit, ending, now));
    return Ok();
  });
  TRAIND_TRY(committed);
  verdict.progressed = commit.newest_step > ending.start_step;
  return verdict;
}

}  // namespace traind::daemon
