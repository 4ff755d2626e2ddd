// A job's life: its states as a table, its record, and the changes that are allowed.
//
// The catalog's row is the truth. Every change of state happens inside a catalog transaction through Apply,
// which checks the table and writes the event. What users ask of a running job (pause, cancel, checkpoint) is
// first a committed request in its row; the supervisor, told after the commit, carries it out. So an
// acknowledged request survives kill -9.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/spec/budget.h"
#include "engine/spec/data.h"
#include "engine/spec/model.h"
#include "engine/spec/training.h"

namespace traind::daemon {

enum class JobState {
  kQueued,
  kHeld,
  kPreparing,
  kRunning,
  kPaused,
  kStalled,
  kSucceeded,
  kBudgetExceeded,
  kCancelled,
  kFailed
};

// What happens to a job.
enum class JobChange {
  kStart,     // devices allocated, worker being spawned: QUEUED → PREPARING
  kPrepared,  // data ready, training begins: PREPARING → RUNNING
  kPause,     // → PAUSED, checkpoint written
  kStall,     // disk full, device lost → STALLED
  kRequeue,   // worker or daemon died, or shutdown: PREPARING/RUNNING → QUEUED; STALLED → QUEUED when the
              // cause has gone
  kResume,    // RESUME JOB: PAUSED, STALLED, CANCELLED, BUDGET_EXCEEDED → QUEUED
  kRetry,     // RETRY JOB: FAILED → QUEUED
  kSucceed,   // → SUCCEEDED
  kExceedBudget,  // → BUDGET_EXCEEDED
  kCancel,        // → CANCELLED
  kFail,          // → FAILED
};

enum class JobRequest { kNone, kPause, kCancel, kCheckpoint };

std::string_view JobStateName(JobState state);  // "RUNNING"
Result<JobState> ParseJobState(std::string_view name);

struct JobStateInfo {
  JobState state;
  std::string_view name;
  bool terminal;
  bool has_devices;
  bool metered;
  int exit_code;  // trainql's exit code of a WAIT that ends in it; -1: WAIT goes on
  std::string_view meaning;
};
const JobStateInfo& InfoOf(JobState state);

// The state after `change`, or nullopt where the table does not allow it.
std::optional<JobState> NextState(JobState state, JobChange change);

struct JobRecord {
  int64_t id = 0;
  std::string name;             // empty if none was given
  int64_t model_id = 0;         // whose weights it starts from
  int64_t target_model_id = 0;  // whose next version it makes
  std::string model;
  std::string target_model;
  int64_t from_version = 0;           // 0: from scratch
  std::optional<int64_t> to_version;  // once published
  JobState state = JobState::kQueued;
  std::string reason;  // why it waits, stalled or failed
  JobRequest request = JobRequest::kNone;
  ModelSpec model_spec;
  TrainingSpec training;
  Budget budget;
  DataSpec data;
  std::optional<DataSpec> validation;
  Json plan;                      // plan::PlanToJson of the chosen plan
  Json devices;                   // ON: null for any, else [["local",0],…]
  std::string resume_checkpoint;  // RESUME FROM …, for its first attempt
  std::string statement;
  std::string labels;  // JSON object
  int64_t retries_left = 3;
  int64_t max_retries = 3;
  int64_t attempts = 0;
  int64_t step = 0;
  int64_t total_steps = 0;  // 0: not known yet
  double submitted_at = 0;
  std::optional<double> started_at;
  std::optional<double> ended_at;
  double used_seconds = 0;  // PREPARING and RUNNING
  double gpu_seconds = 0;
  int64_t data_tokens = 0;  // once prepared
  int64_t validation_tokens = 0;
  std::string directory;  // absolute: checkpoints, logs
};

Result<JobRecord> LoadJob(Connection& connection, int64_t id);
// Ids, oldest first: all jobs that are not terminal.
Result<std::vector<int64_t>> UnfinishedJobs(Connection& connection);

// Applies `change` to the job within `transaction`: checks the table (WRONG_STATE names state and change),
// updates state, reason and times, and inserts the event (kind "state", detail "RUNNING: …"). Returns the new
// state. Clears a request that the new state fulfils.
Result<JobState> Apply(Transaction& transaction, int64_t job, JobChange change, std::string_view reason,
                       double now);

// Inserts an event that is no change of state: kind "budget", "checkpoint", "worker", "retry", "request",
// "warning".
Status AddEvent(Transaction& transaction, int64_t job, std::string_view kind, std::string_view detail,
                double now);

// An attempt of a job: begun with its devices, ended with an outcome. Returns the attempt's number, from 1.
Result<int64_t> BeginAttempt(Transaction& transaction, int64_t job, std::string_view devices, double now);
Status EndAttempt(Transaction& transaction, int64_t job, int64_t attempt, std::string_view outcome,
                  double now);

// Adds metered time.
Status AddUsage(Transaction& transaction, int64_t job, double seconds, int64_t devices);

// A complete checkpoint's row; the newest complete one of a job.
Status AddCheckpoint(Transaction& transaction, int64_t job, int64_t step, std::string_view path,
                     int64_t bytes, std::optional<double> val_loss, double now);
struct CheckpointRecord {
  int64_t step = 0;
  std::string path;
  int64_t bytes = 0;
  std::string state;  // complete | damaged | removed
};
Result<std::vector<CheckpointRecord>> CompleteCheckpoints(Connection& connection,
                                                          int64_t job);  // newest first

// The job's checkpoint directory `checkpoint` has been linked as `path`: inserts the target model's next
// version and returns its number.
Result<int64_t> AddVersion(Transaction& transaction, const JobRecord& job, int64_t step, int64_t tokens,
                           std::optional<double> val_loss, std::string_view path, double now);

}  // namespace traind::daemon
