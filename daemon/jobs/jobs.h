// A job's life: its states as a table, its record, and the changes that are allowed.
//
// The catalog's row is the truth. Every change of state happens inside a catalog transaction through Apply,
// which checks the table and writes the event. What users ask of a running job (pause, cancel, checkpoint) is
// first a committed request in its row; the supervisor, told after the commit, carries it out. So an
// acknowledged request survives kill -9.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  int exit_code;                   // trainql's exit code of a WAIT that ends in it; -1: WAIT goes on
  std::string_view continue_with;  // the statement's verb that goes on from here; empty: none
  std::string_view meaning;
};
const JobStateInfo& InfoOf(JobState state);
std::span<const JobStateInfo> AllJobStates();

struct JobChangeInfo {
  JobChange change;
  std::string_view done;  // for messages: "it cannot be <done>"
};
std::span<const JobChangeInfo> AllJobChanges();

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
  MixtureSpec data;
  std::optional<MixtureSpec> validation;
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
  std::string directory;     // absolute: checkpoints, logs; set by InsertJob
  std::string canonical;     // the bound statement in canonical form, without WAIT, DETACH and IF NOT EXISTS
  std::string client_token;  // unique; empty if none
  int64_t priority = 0;
  int64_t predicted_peak_bytes = 0;
  double predicted_step_ms = 0;

  // "job 7" or "job 7 (nightly)", for messages.
  std::string Display() const;
};

// One setting of a job and where its value came from.
struct JobSetting {
  std::string name;
  std::string value;
  std::string source;  // default | session | statement
};

// Inserts the job as QUEUED with its settings and its first event; jobs/<id> under `state_directory` becomes
// its directory. Returns the id. TOO_MANY past kMaxQueuedJobs.
Result<int64_t> InsertJob(Transaction& transaction, const JobRecord& job,
                          const std::vector<JobSetting>& settings, const std::string& state_directory,
                          double now);
Result<std::vector<JobSetting>> LoadSettings(Connection& connection, int64_t job);

// NO_SUCH_JOB if there is none.
Result<JobRecord> LoadJob(Connection& connection, int64_t id);
// The newest job of that name.
Result<std::optional<int64_t>> NewestJobNamed(Connection& connection, std::string_view name);
Result<std::optional<int64_t>> JobOfToken(Connection& connection, std::string_view client_token);
// The unfinished job that makes the next version of this model, or nullopt. `reads` also counts the ones that
// only start from its versions.
Result<std::optional<int64_t>> UnfinishedJobOf(Connection& connection, int64_t model_id, bool reads);
// Ids, oldest first: all jobs that are not terminal.
Result<std::vector<int64_t>> UnfinishedJobs(Connection& connection);

// Applies `change` to the job within `transaction`: checks the table (WRONG_STATE names state and change),
// updates state, reason and times, and inserts the event (kind "state", detail "RUNNING: …"). Returns the new
// state. Clears a request that the new state fulfils.
Result<JobState> Apply(Transaction& transaction, int64_t job, JobChange change, std::string_view reason,
                       double now);

// Commits to `request` for a job that has devices: the supervisor carries it out. WRONG_STATE if it has none;
// a cancel outranks a pause, a pause a checkpoint. kNone withdraws. An event of kind "request".
Status SetRequest(Transaction& transaction, int64_t job, JobRequest request, double now);
std::string_view JobRequestName(JobRequest request);  // "pause"; "" for kNone

// Why a job waits, without a change of state or an event.
Status SetReason(Transaction& transaction, int64_t job, std::string_view reason);
// A changed budget (ALTER JOB) and the plan that keeps to it.
Status SetBudget(Transaction& transaction, int64_t job, const Budget& budget, const Json& plan, double now);
// The plan of its next attempt.
Status SetPlan(Transaction& transaction, int64_t job, const Json& plan);
Status SetTotalSteps(Transaction& transaction, int64_t job, int64_t total_steps);
// What the worker found in each source when the data was ready; a data set of the same definition gets the
// counts too.
struct PreparedSource {
  int64_t tokens = 0;
  int64_t documents = 0;
  int64_t bytes = 0;
  int64_t files = 0;
  int64_t largest_token = 0;
};
using PreparedData = std::vector<PreparedSource>;
int64_t TokensOf(const PreparedData& data);
Status SetPrepared(Transaction& transaction, const JobRecord& job, const PreparedData& data,
                   const PreparedData& validation, int64_t total_steps);
// Measured figures; absent ones stay as they are.
Status SetMeasured(Transaction& transaction, int64_t job, std::optional<int64_t> peak_bytes,
                   std::optional<double> step_ms);
// Takes one of the job's retries; false when none is left.
Result<bool> TakeRetry(Transaction& transaction, int64_t job);

// Inserts an event that is no change of state: kind "budget", "checkpoint", "worker", "retry", "request",
// "warning".
Status AddEvent(Transaction& transaction, int64_t job, std::string_view kind, std::string_view detail,
                double now);

// An attempt of a job: begun with its devices, ended with an outcome. Returns the attempt's number, from 1.
Result<int64_t> BeginAttempt(Transaction& transaction, int64_t job, std::string_view devices, double now);
Status EndAttempt(Transaction& transaction, int64_t job, int64_t attempt, std::string_view outcome,
                  double now);
// The process group that runs it, to be found again after the daemon's death.
Status SetAttemptProcess(Transaction& transaction, int64_t job, int64_t attempt, int64_t pid);
struct OpenAttempt {
  int64_t job = 0;
  int64_t attempt = 0;
  std::optional<int64_t> pid;
  std::string devices;
};
// Attempts without an outcome: those that run, or ran when the daemon died.
Result<std::vector<OpenAttempt>> OpenAttempts(Connection& connection);

// Adds metered time, and its cost at the devices' price.
Status AddUsage(Transaction& transaction, int64_t job, double seconds, int64_t devices,
                double price_per_hour = 0);

// A complete checkpoint's row; the job's step becomes its step. `val_loss` is of that very step, `timing` is
// appended to the event.
Status AddCheckpoint(Transaction& transaction, int64_t job, int64_t step, std::string_view path,
                     int64_t bytes, std::optional<double> val_loss, double now, std::string_view timing = {});
// A request for a checkpoint has been answered.
Status CloseCheckpointRequest(Transaction& transaction, int64_t job);
struct CheckpointRecord {
  int64_t step = 0;
  std::string path;
  int64_t bytes = 0;
  std::string state;  // complete | damaged | removed
};
Result<std::vector<CheckpointRecord>> CompleteCheckpoints(Connection& connection,
                                                          int64_t job);  // newest first
// "complete", "damaged" (never used, never deleted) or "removed".
Status SetCheckpointState(Transaction& transaction, int64_t job, int64_t step, std::string_view state);

// The job's checkpoint directory `checkpoint` has been linked as `path`: inserts the target model's next
// version, with a "version" event, sets the job's to_version and returns the number. NO_SUCH_MODEL if the
// model has gone.
Result<int64_t> AddVersion(Transaction& transaction, const JobRecord& job, int64_t step, int64_t tokens,
                           std::optional<double> val_loss, std::string_view path, double now);

}  // namespace traind::daemon
