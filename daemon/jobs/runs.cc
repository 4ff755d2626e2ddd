// What a job's runs leave: attempts, metered time, measured figures, checkpoints, versions.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/catalog/row.h"
#include "daemon/jobs/jobs.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

constexpr double kSecondsPerHour = 3600;

// The plan's figures that sys_jobs shows.
struct Predicted {
  int64_t peak_bytes = 0;
  double step_ms = 0;
};

Predicted PredictedOf(const Json& plan) {
  if (!plan.is_object()) return {};
  const auto peak = GetIntOr(plan, "predicted_peak_bytes", 0);
  const auto seconds = GetDoubleOr(plan, "step_seconds", 0);
  return {peak.ok() ? *peak : 0, seconds.ok() ? *seconds * 1000 : 0};
}

// Each source by itself: its data set, if it is one and is still defined so.
Status SetDatasetCounts(Transaction& transaction, const MixtureSpec& mixture, const PreparedData& counts) {
  for (size_t i = 0; i < std::min(mixture.parts.size(), counts.size()); ++i) {
    const DataSpec& data = mixture.parts[i].data;
    const PreparedSource& source = counts[i];
    TRAIND_TRY(transaction.Run(
        "UPDATE _datasets SET tokens = ?3, documents = ?4, bytes = ?5, files = ?6, largest_token = ?7 "
        "WHERE name = ?1 AND spec = ?2",
        {data.name, DumpJson(DataToJson(data)), source.tokens, source.documents, source.bytes, source.files,
         source.largest_token}));
  }
  return {};
}

}  // namespace

Status SetBudget(Transaction& transaction, int64_t job, const Budget& budget, const Json& plan, double now) {
  TRAIND_TRY(
      transaction.Run("UPDATE _jobs SET budget = ?2 WHERE id = ?1", {job, DumpJson(BudgetToJson(budget))}));
  TRAIND_TRY(SetPlan(transaction, job, plan));
  return AddEvent(transaction, job, "budget", "changed to " + DumpJson(BudgetToJson(budget)), now);
}

Status SetPlan(Transaction& transaction, int64_t job, const Json& plan) {
  const Predicted predicted = PredictedOf(plan);
  return transaction.Run(
      "UPDATE _jobs SET plan = ?2, predicted_peak_bytes = ?3, predicted_step_ms = ?4 WHERE id = ?1",
      {job, DumpJson(plan), predicted.peak_bytes, predicted.step_ms});
}

Status SetTotalSteps(Transaction& transaction, int64_t job, int64_t total_steps) {
  return transaction.Run("UPDATE _jobs SET total_steps = ?2 WHERE id = ?1", {job, total_steps});
}

int64_t TokensOf(const PreparedData& data) {
  int64_t tokens = 0;
  for (const PreparedSource& source : data) tokens += source.tokens;
  return tokens;
}

Status SetPrepared(Transaction& transaction, const JobRecord& job, const PreparedData& data,
                   const PreparedData& validation, int64_t total_steps) {
  TRAIND_TRY(
      transaction.Run("UPDATE _jobs SET data_tokens = ?2, validation_tokens = ?3, "
                      "total_steps = CASE WHEN ?4 > 0 THEN ?4 ELSE total_steps END WHERE id = ?1",
                      {job.id, TokensOf(data), TokensOf(validation), total_steps}));
  TRAIND_TRY(SetDatasetCounts(transaction, job.data, data));
  return job.validation ? SetDatasetCounts(transaction, *job.validation, validation) : Status();
}

Status SetMeasured(Transaction& transaction, int64_t job, std::optional<int64_t> peak_bytes,
                   std::optional<double> step_ms) {
  return transaction.Run(
      "UPDATE _jobs SET peak_bytes = coalesce(max(?2, coalesce(peak_bytes, 0)), peak_bytes), "
      "step_ms = coalesce(?3, step_ms) WHERE id = ?1",
      {job, OptionalCell(peak_bytes), OptionalCell(step_ms)});
}

Result<bool> TakeRetry(Transaction& transaction, int64_t job) {
  TRAIND_ASSIGN(const auto row, transaction.QueryRow("SELECT retries_left FROM _jobs WHERE id = ?1", {job}));
  if (!row || RowReader(*row).Int() <= 0) return false;
  TRAIND_TRY(transaction.Run("UPDATE _jobs SET retries_left = retries_left - 1 WHERE id = ?1", {job}));
  return true;
}

Result<int64_t> BeginAttempt(Transaction& transaction, int64_t job, std::string_view devices, double now) {
  TRAIND_ASSIGN(const auto row,
                transaction.QueryRow(
                    "UPDATE _jobs SET attempts = attempts + 1 WHERE id = ?1 RETURNING attempts", {job}));
  if (!row) return Status(ErrorCode::NO_SUCH_JOB, fmt::format("there is no job {}", job));
  const int64_t attempt = RowReader(*row).Int();
  TRAIND_TRY(
      transaction.Run("INSERT INTO _attempts(job_id, attempt, devices, started_at) VALUES (?1,?2,?3,?4)",
                      {job, attempt, std::string(devices), now}));
  return attempt;
}

Status EndAttempt(Transaction& transaction, int64_t job, int64_t attempt, std::string_view outcome,
                  double now) {
  return transaction.Run(
      "UPDATE _attempts SET ended_at = ?3, outcome = ?4 WHERE job_id = ?1 AND attempt = ?2 AND ended_at IS "
      "NULL",
      {job, attempt, now, std::string(outcome)});
}

Status SetAttemptProcess(Transaction& transaction, int64_t job, int64_t attempt, int64_t pid) {
  return transaction.Run("UPDATE _attempts SET pid = ?3 WHERE job_id = ?1 AND attempt = ?2",
                         {job, attempt, pid});
}

Result<std::vector<OpenAttempt>> OpenAttempts(Connection& connection) {
  TRAIND_ASSIGN(const auto rows, connection.Query("SELECT job_id, attempt, pid, devices FROM main._attempts "
                                                  "WHERE ended_at IS NULL ORDER BY job_id, attempt"));
  std::vector<OpenAttempt> attempts;
  for (const auto& cells : rows) {
    RowReader row(cells);
    OpenAttempt attempt;
    attempt.job = row.Int();
    attempt.attempt = row.Int();
    attempt.pid = row.OptionalInt();
    attempt.devices = row.Text();
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

Status AddUsage(Transaction& transaction, int64_t job, double seconds, int64_t devices,
                double price_per_hour) {
  const double device_seconds = seconds * static_cast<double>(devices);
  return transaction.Run(
      "UPDATE _jobs SET used_seconds = used_seconds + ?2, gpu_seconds = gpu_seconds + ?3, cost = cost + ?4 "
      "WHERE id = ?1",
      {job, seconds, device_seconds, device_seconds / kSecondsPerHour * price_per_hour});
}

Status AddCheckpoint(Transaction& transaction, int64_t job, int64_t step, std::string_view path,
                     int64_t bytes, std::optional<double> val_loss, double now, std::string_view timing) {
  TRAIND_TRY(transaction.Run(
      "INSERT OR REPLACE INTO _checkpoints(job_id, step, path, bytes, val_loss, state, created_at) "
      "VALUES (?1,?2,?3,?4,?5,'complete',?6)",
      {job, step, std::string(path), bytes, OptionalCell(val_loss), now}));
  TRAIND_TRY(transaction.Run("UPDATE _jobs SET step = ?2 WHERE id = ?1", {job, step}));
  return AddEvent(transaction, job, "checkpoint",
                  fmt::format("step {}, {}{}", step, FormatBytes(static_cast<double>(bytes)), timing), now);
}

Status CloseCheckpointRequest(Transaction& transaction, int64_t job) {
  return transaction.Run("UPDATE _jobs SET request = '' WHERE id = ?1 AND request = 'checkpoint'", {job});
}

Result<std::vector<CheckpointRecord>> CompleteCheckpoints(Connection& connection, int64_t job) {
  TRAIND_ASSIGN(const auto rows,
                connection.Query("SELECT step, path, bytes, state FROM main._checkpoints "
                                 "WHERE job_id = ?1 AND state = 'complete' ORDER BY step DESC",
                                 {job}));
  std::vector<CheckpointRecord> checkpoints;
  for (const auto& cells : rows) {
    RowReader row(cells);
    CheckpointRecord checkpoint;
    checkpoint.step = row.Int();
    checkpoint.path = row.Text();
    checkpoint.bytes = row.Int();
    checkpoint.state = row.Text();
    checkpoints.push_back(std::move(checkpoint));
  }
  return checkpoints;
}

Status SetCheckpointState(Transaction& transaction, int64_t job, int64_t step, std::string_view state) {
  return transaction.Run("UPDATE _checkpoints SET state = ?3 WHERE job_id = ?1 AND step = ?2",
                         {job, step, std::string(state)});
}

Result<int64_t> AddVersion(Transaction& transaction, const JobRecord& job, int64_t step, int64_t tokens,
                           std::optional<double> val_loss, std::string_view path, double now) {
  TRAIND_ASSIGN(const auto model,
                transaction.QueryRow("SELECT id FROM _models WHERE id = ?1", {job.target_model_id}));
  if (!model) {
    return Status(ErrorCode::NO_SUCH_MODEL, fmt::format("the model {} was dropped", job.target_model));
  }
  TRAIND_ASSIGN(
      const auto row,
      transaction.QueryRow(
          "INSERT INTO _versions(model_id, version, job_id, step, tokens, val_loss, path, created_at) "
          "SELECT ?1, coalesce(max(version), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7 FROM _versions "
          "WHERE model_id = ?1 RETURNING version",
          {job.target_model_id, job.id, step, tokens, OptionalCell(val_loss), std::string(path), now}));
  const int64_t version = row ? RowReader(*row).Int() : 0;
  TRAIND_TRY(transaction.Run("UPDATE _jobs SET to_version = ?2 WHERE id = ?1", {job.id, version}));
  TRAIND_TRY(AddEvent(transaction, job.id, "version", fmt::format("{}@{}", job.target_model, version), now));
  return version;
}

}  // namespace traind::daemon
