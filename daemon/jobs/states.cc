// The states of a job and what may happen in each, as tables.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "daemon/jobs/jobs.h"

namespace traind::daemon {
namespace {

constexpr JobStateInfo kStates[] = {
    {JobState::kQueued, "QUEUED", false, false, false, -1, "", "waits for devices and starts by itself"},
    {JobState::kHeld, "HELD", false, false, false, 11, "RELEASE", "waits until it is released"},
    {JobState::kPreparing, "PREPARING", false, true, true, -1, "",
     "has its devices; data is being tokenised"},
    {JobState::kRunning, "RUNNING", false, true, true, -1, "", "trains"},
    {JobState::kPaused, "PAUSED", false, false, false, 11, "RESUME",
     "stopped by a user, its checkpoint written"},
    {JobState::kStalled, "STALLED", false, false, false, 11, "RESUME",
     "stopped by a full disk or a lost device; goes on by itself when that is mended"},
    {JobState::kSucceeded, "SUCCEEDED", true, false, false, 0, "",
     "reached its target; its version is published"},
    {JobState::kBudgetExceeded, "BUDGET_EXCEEDED", true, false, false, 7, "RESUME",
     "used up its budget before its target; its version is published"},
    {JobState::kCancelled, "CANCELLED", true, false, false, 6, "RESUME", "ended by a user"},
    {JobState::kFailed, "FAILED", true, false, false, 5, "RETRY", "ended by an error; the reason says which"},
};

constexpr JobChangeInfo kChanges[] = {
    {JobChange::kStart, "started"},
    {JobChange::kPrepared, "said to be prepared"},
    {JobChange::kPause, "paused"},
    {JobChange::kStall, "stalled"},
    {JobChange::kRequeue, "queued again"},
    {JobChange::kResume, "resumed"},
    {JobChange::kRetry, "retried"},
    {JobChange::kSucceed, "ended with success"},
    {JobChange::kExceedBudget, "stopped at its budget"},
    {JobChange::kCancel, "cancelled"},
    {JobChange::kFail, "failed"},
};

struct Transition {
  JobState from;
  JobChange change;
  JobState to;
};

using S = JobState;
using C = JobChange;
constexpr Transition kTransitions[] = {
    {S::kQueued, C::kStart, S::kPreparing},
    {S::kQueued, C::kPause, S::kPaused},
    {S::kQueued, C::kStall, S::kStalled},
    {S::kQueued, C::kCancel, S::kCancelled},
    {S::kQueued, C::kExceedBudget, S::kBudgetExceeded},  // its DEADLINE passed
    {S::kQueued, C::kFail, S::kFailed},

    {S::kHeld, C::kCancel, S::kCancelled},

    {S::kPreparing, C::kPrepared, S::kRunning},
    {S::kPreparing, C::kPause, S::kPaused},
    {S::kPreparing, C::kStall, S::kStalled},
    {S::kPreparing, C::kRequeue, S::kQueued},
    {S::kPreparing, C::kCancel, S::kCancelled},
    {S::kPreparing, C::kExceedBudget, S::kBudgetExceeded},
    {S::kPreparing, C::kFail, S::kFailed},

    {S::kRunning, C::kPause, S::kPaused},
    {S::kRunning, C::kStall, S::kStalled},
    {S::kRunning, C::kRequeue, S::kQueued},
    {S::kRunning, C::kSucceed, S::kSucceeded},
    {S::kRunning, C::kExceedBudget, S::kBudgetExceeded},
    {S::kRunning, C::kCancel, S::kCancelled},
    {S::kRunning, C::kFail, S::kFailed},

    {S::kPaused, C::kResume, S::kQueued},
    {S::kPaused, C::kCancel, S::kCancelled},

    {S::kStalled, C::kResume, S::kQueued},
    {S::kStalled, C::kRequeue, S::kQueued},
    {S::kStalled, C::kPause, S::kPaused},
    {S::kStalled, C::kCancel, S::kCancelled},
    {S::kStalled, C::kFail, S::kFailed},

    {S::kBudgetExceeded, C::kResume, S::kQueued},
    {S::kCancelled, C::kResume, S::kQueued},
    {S::kFailed, C::kRetry, S::kQueued},
};

}  // namespace

std::span<const JobStateInfo> AllJobStates() {
  return kStates;
}

std::span<const JobChangeInfo> AllJobChanges() {
  return kChanges;
}

const JobStateInfo& InfoOf(JobState state) {
  return *std::ranges::find(kStates, state, &JobStateInfo::state);
}

std::string_view JobStateName(JobState state) {
  return InfoOf(state).name;
}

Result<JobState> ParseJobState(std::string_view name) {
  const auto* row = std::ranges::find(kStates, name, &JobStateInfo::name);
  if (row != std::end(kStates)) return row->state;
  return Status(ErrorCode::INTERNAL, fmt::format("no job state is called {}", name));
}

std::optional<JobState> NextState(JobState state, JobChange change) {
  const auto* row = std::ranges::find_if(kTransitions, [&](const Transition& transition) {
    return transition.from == state && transition.change == change;
  });
  if (row == std::end(kTransitions)) return std::nullopt;
  return row->to;
}

std::string_view JobRequestName(JobRequest request) {
  switch (request) {
    case JobRequest::kPause:
      return "pause";
    case JobRequest::kCancel:
      return "cancel";
    case JobRequest::kCheckpoint:
      return "checkpoint";
    case JobRequest::kNone:
      break;
  }
  return "";
}

}  // namespace traind::daemon
