// A job's row: written once at submission, read as a whole.
#include <fmt/format.h>

#include "daemon/catalog/row.h"
#include "daemon/jobs/jobs.h"
#include "engine/base/limits.h"

namespace traind::daemon {
namespace {

constexpr std::string_view kSelect =
    "SELECT id, name, model_id, target_model_id, model, target_model, from_version, to_version, state, "
    "reason, "
    "request, model_spec, training, budget, data, validation, plan, devices, resume_checkpoint, statement, "
    "labels, "
    "retries_left, max_retries, attempts, step, total_steps, submitted_at, started_at, ended_at, "
    "used_seconds, "
    "gpu_seconds, data_tokens, validation_tokens, directory, canonical, client_token, priority, "
    "predicted_peak_bytes, predicted_step_ms FROM main._jobs WHERE id = ?1";

constexpr std::string_view kInsert =
    "INSERT INTO _jobs(name, model_id, target_model_id, model, target_model, from_version, state, reason, "
    "model_spec, training, budget, data, validation, plan, devices, resume_checkpoint, statement, labels, "
    "retries_left, max_retries, total_steps, submitted_at, directory, canonical, client_token, priority, "
    "predicted_peak_bytes, predicted_step_ms) VALUES "
    "(?1,?2,?3,?4,?5,?6,'QUEUED','',?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,'',?21,?22,?23,?24,?"
    "25)";

constexpr std::string_view kUnfinished =
    "state IN ('QUEUED','HELD','PREPARING','RUNNING','PAUSED','STALLED')";

JobRequest ParseRequest(std::string_view name) {
  for (const JobRequest request : {JobRequest::kPause, JobRequest::kCancel, JobRequest::kCheckpoint}) {
    if (name == JobRequestName(request)) return request;
  }
  return JobRequest::kNone;
}

Status ReadNames(RowReader& row, JobRecord* job) {
  job->id = row.Int();
  job->name = row.Text();
  job->model_id = row.Int();
  job->target_model_id = row.Int();
  job->model = row.Text();
  job->target_model = row.Text();
  job->from_version = row.Int();
  job->to_version = row.OptionalInt();
  TRAIND_ASSIGN(job->state, ParseJobState(row.Text()));
  job->reason = row.Text();
  job->request = ParseRequest(row.Text());
  return {};
}

Status ReadSpecifications(RowReader& row, JobRecord* job) {
  TRAIND_ASSIGN(const Json model, row.JsonValue());
  TRAIND_ASSIGN(job->model_spec, ModelFromJson(model));
  TRAIND_ASSIGN(const Json training, row.JsonValue());
  TRAIND_ASSIGN(job->training, TrainingFromJson(training));
  TRAIND_ASSIGN(const Json budget, row.JsonValue());
  TRAIND_ASSIGN(job->budget, BudgetFromJson(budget));
  TRAIND_ASSIGN(const Json data, row.JsonValue());
  TRAIND_ASSIGN(job->data, MixtureFromJson(data));
  TRAIND_ASSIGN(const Json validation, row.JsonValue());
  if (!validation.is_null()) {
    TRAIND_ASSIGN(job->validation, MixtureFromJson(validation));
  }
  TRAIND_ASSIGN(job->plan, row.JsonValue());
  TRAIND_ASSIGN(job->devices, row.JsonValue());
  return {};
}

void ReadProgress(RowReader& row, JobRecord* job) {
  job->resume_checkpoint = row.Text();
  job->statement = row.Text();
  job->labels = row.Text();
  job->retries_left = row.Int();
  job->max_retries = row.Int();
  job->attempts = row.Int();
  job->step = row.Int();
  job->total_steps = row.Int();
  job->submitted_at = row.Real();
  job->started_at = row.OptionalReal();
  job->ended_at = row.OptionalReal();
  job->used_seconds = row.Real();
  job->gpu_seconds = row.Real();
  job->data_tokens = row.Int();
  job->validation_tokens = row.Int();
  job->directory = row.Text();
  job->canonical = row.Text();
  job->client_token = row.Text();
  job->priority = row.Int();
  job->predicted_peak_bytes = row.Int();
  job->predicted_step_ms = row.Real();
}

Status InsertSettings(Transaction& transaction, int64_t job, const std::vector<JobSetting>& settings) {
  int64_t position = 0;
  for (const JobSetting& setting : settings) {
    TRAIND_TRY(transaction.Run(
        "INSERT INTO _job_settings(job_id, position, name, value, source) VALUES (?1,?2,?3,?4,?5)",
        {job, position++, setting.name, setting.value, setting.source}));
  }
  return {};
}

Result<std::optional<int64_t>> QueryId(Connection& connection, std::string_view sql,
                                       std::vector<Cell> arguments) {
  TRAIND_ASSIGN(const auto row, connection.QueryRow(sql, arguments));
  if (!row) return std::optional<int64_t>();
  return RowReader(*row).OptionalInt();
}

}  // namespace

std::string JobRecord::Display() const {
  return name.empty() ? fmt::format("job {}", id) : fmt::format("job {} ({})", id, name);
}

Result<int64_t> InsertJob(Transaction& transaction, const JobRecord& job,
                          const std::vector<JobSetting>& settings, const std::string& state_directory,
                          double now) {
  TRAIND_ASSIGN(const auto unfinished,
                QueryId(transaction, fmt::format("SELECT count(*) FROM _jobs WHERE {}", kUnfinished), {}));
  if (unfinished.value_or(0) >= kMaxQueuedJobs) {
    return Status(ErrorCode::TOO_MANY,
                  fmt::format("there are already {} unfinished jobs, the limit", kMaxQueuedJobs),
                  "wait for some of them, or cancel some");
  }
  TRAIND_TRY(
      transaction.Run(kInsert, {job.name,
                                job.model_id,
                                job.target_model_id,
                                job.model,
                                job.target_model,
                                job.from_version,
                                DumpJson(ModelToJson(job.model_spec)),
                                DumpJson(TrainingToJson(job.training)),
                                DumpJson(BudgetToJson(job.budget)),
                                DumpJson(MixtureToJson(job.data)),
                                job.validation ? Cell(DumpJson(MixtureToJson(*job.validation))) : Cell(),
                                DumpJson(job.plan),
                                DumpJson(job.devices),
                                job.resume_checkpoint,
                                job.statement,
                                job.labels.empty() ? std::string("{}") : job.labels,
                                job.max_retries,
                                job.max_retries,
                                job.total_steps,
                                now,
                                job.canonical,
                                job.client_token.empty() ? Cell() : Cell(job.client_token),
                                job.priority,
                                job.predicted_peak_bytes,
                                job.predicted_step_ms}));
  const int64_t id = transaction.last_insert_id();
  TRAIND_TRY(transaction.Run("UPDATE _jobs SET directory = ?2 WHERE id = ?1",
                             {id, fmt::format("{}/jobs/{}", state_directory, id)}));
  TRAIND_TRY(InsertSettings(transaction, id, settings));
  TRAIND_TRY(AddEvent(transaction, id, "state", "QUEUED: submitted", now));
  return id;
}

Result<std::vector<JobSetting>> LoadSettings(Connection& connection, int64_t job) {
  TRAIND_ASSIGN(
      const auto rows,
      connection.Query(
          "SELECT name, value, source FROM main._job_settings WHERE job_id = ?1 ORDER BY position", {job}));
  std::vector<JobSetting> settings;
  for (const auto& cells : rows) {
    RowReader row(cells);
    std::string name = row.Text();
    std::string value = row.Text();
    settings.push_back({std::move(name), std::move(value), row.Text()});
  }
  return settings;
}

Result<JobRecord> LoadJob(Connection& connection, int64_t id) {
  TRAIND_ASSIGN(const auto cells, connection.QueryRow(kSelect, {id}));
  if (!cells) {
    return Status(ErrorCode::NO_SUCH_JOB, fmt::format("there is no job {}", id), "SHOW JOBS lists them");
  }
  JobRecord job;
  RowReader row(*cells);
  TRAIND_TRY(ReadNames(row, &job));
  TRAIND_TRY(ReadSpecifications(row, &job));
  ReadProgress(row, &job);
  return job;
}

Result<std::optional<int64_t>> NewestJobNamed(Connection& connection, std::string_view name) {
  return QueryId(connection, "SELECT max(id) FROM main._jobs WHERE name = ?1", {std::string(name)});
}

Result<std::optional<int64_t>> JobOfToken(Connection& connection, std::string_view client_token) {
  if (client_token.empty()) return std::optional<int64_t>();
  return QueryId(connection, "SELECT id FROM main._jobs WHERE client_token = ?1",
                 {std::string(client_token)});
}

Result<std::optional<int64_t>> UnfinishedJobOf(Connection& connection, int64_t model_id, bool reads) {
  return QueryId(
      connection,
      fmt::format(
          "SELECT min(id) FROM main._jobs WHERE {} AND (target_model_id = ?1 OR (?2 AND model_id = ?1))",
          kUnfinished),
      {model_id, int64_t{reads}});
}

Result<std::vector<int64_t>> UnfinishedJobs(Connection& connection) {
  TRAIND_ASSIGN(const auto rows,
                connection.Query(fmt::format("SELECT id FROM main._jobs WHERE {} ORDER BY id", kUnfinished)));
  std::vector<int64_t> ids;
  for (const auto& row : rows) ids.push_back(RowReader(row).Int());
  return ids;
}

}  // namespace traind::daemon
