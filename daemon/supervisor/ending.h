// How an attempt ends: from what the worker said and how its process ended, to the job's next state. On a
// pool thread; nothing is visible before the last transaction, and all of it can be done again after a
// failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/catalog/catalog.h"
#include "daemon/jobs/jobs.h"
#include "engine/base/io.h"
#include "engine/base/status.h"

namespace traind::daemon {

// Why the supervisor told the worker to stop.
enum class StopReason { kNone, kPause, kCancel, kBudget, kShutdown };
std::string_view StopReasonName(StopReason reason);  // "pause", as the worker is told

struct AttemptEnding {
  int64_t attempt = 0;
  StopReason stop = StopReason::kNone;
  std::string stop_detail;                                     // the budget's mark, for the job's reason
  LimitAction limit_action = LimitAction::kCheckpointAndStop;  // when stop is kBudget
  std::string outcome;     // the worker's "finished": target, until, pause …; empty if it sent none
  std::string checkpoint;  // its last checkpoint's directory, or empty
  Status failure;          // its "failed", else how the process ended
  int64_t start_step = 0;
  std::string resumed_from;      // the checkpoint it was started with
  double unmetered_seconds = 0;  // since the last AddUsage
  int64_t devices = 1;
  double price_per_hour = 0;
  std::optional<int64_t> peak_bytes;
  std::optional<double> step_ms;
};

// What is to become of the job. Pure.
struct EndingDecision {
  JobChange change = JobChange::kFail;
  std::string reason;
  bool publish = false;         // the newest checkpoint becomes a version, if there is one
  bool take_retry = false;      // kFail when none is left
  bool damaged_resume = false;  // set resumed_from aside
};
EndingDecision DecideEnding(const JobRecord& job, const AttemptEnding& ending);

struct Verdict {
  JobState state = JobState::kFailed;
  bool retried = false;
  bool progressed = false;  // a checkpoint beyond the one it started from is there
  int64_t retries_left = 0;
  int64_t max_retries = 0;
};

// Carries the decision out: adopts checkpoints, publishes the version, and commits state, usage, attempt and
// events in one transaction. DISK_FULL and IO can be tried again.
Result<Verdict> Conclude(Reader& reader, Catalog& catalog, Io& io, const std::string& state_directory,
                         int64_t job, const AttemptEnding& ending, double now);

}  // namespace traind::daemon
