// What several handlers need.
#include "daemon/statements/common.h"

#include <fmt/format.h>

#include "daemon/catalog/row.h"
#include "engine/base/rooted_path.h"
#include "engine/plan/planner.h"

namespace traind::daemon {
namespace {

Cell TextOrNull(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}
Cell PositiveOrNull(int64_t number) {
  return number > 0 ? Cell(number) : Cell();
}

// The version it made, else the one it will make: the target's next.
Result<Cell> ToVersion(Connection& connection, const JobRecord& job) {
  if (job.to_version) return Cell(*job.to_version);
  if (InfoOf(job.state).terminal) return Cell();
  TRAIND_ASSIGN(
      const auto row,
      connection.QueryRow("SELECT coalesce(max(version), 0) + 1 FROM main._versions WHERE model_id = ?1",
                          {job.target_model_id}));
  return row ? row->front() : Cell();
}

Result<std::vector<Cell>> TrainRow(Connection& connection, const JobRecord& job) {
  TRAIND_ASSIGN(const plan::Plan plan, plan::PlanFromJson(job.plan));
  TRAIND_ASSIGN(Cell to_version, ToVersion(connection, job));
  Cell end;
  if (plan.run_seconds > 0 && !InfoOf(job.state).terminal) {
    end = job.started_at.value_or(job.submitted_at) + plan.run_seconds;
  }
  if (job.ended_at) end = *job.ended_at;
  return std::vector<Cell>{job.id,
                           TextOrNull(job.name),
                           std::string(JobStateName(job.state)),
                           job.target_model,
                           job.from_version,
                           std::move(to_version),
                           fmt::format("{}:{}", plan.device.node, plan.device.index),
                           PositiveOrNull(job.total_steps),
                           PositiveOrNull(plan.predicted_peak_bytes),
                           plan.step_seconds * 1000,
                           std::move(end)};
}

}  // namespace

FieldReply& FieldReply::Add(std::string_view field, std::string value) {
  reply_.rows.push_back({std::string(field), std::move(value)});
  return *this;
}

Reply NoticeReply(std::string notice) {
  Reply reply;
  reply.notices.push_back(std::move(notice));
  return reply;
}

Status CheckNotBusy(Connection& connection, int64_t model_id, std::string_view model, bool reads) {
  TRAIND_ASSIGN(const auto id, UnfinishedJobOf(connection, model_id, reads));
  if (!id) return {};
  TRAIND_ASSIGN(const JobRecord job, LoadJob(connection, *id));
  return Status(ErrorCode::MODEL_BUSY,
                fmt::format("{} is {} and uses the model {}", job.Display(), JobStateName(job.state), model),
                fmt::format("WAIT FOR JOB {0}, or CANCEL JOB {0}, first", *id))
      .With(DumpJson(Json{{"job", *id}}));
}

void RemoveModelFiles(const Context& context, int64_t model_id, std::vector<std::string>* notices) {
  const auto path = RootedPath(context.daemon.state_directory, {"models", std::to_string(model_id)});
  const Status removed = path.ok() ? context.daemon.io->RemoveTree(*path) : path.status();
  if (!removed.ok()) notices->push_back(fmt::format("its files were not removed: {}", removed.message()));
}

Result<Reply> JobReply(Connection& connection, const std::vector<int64_t>& jobs) {
  Reply reply;
  reply.columns = {{"id", "integer"},
                   {"name", "text"},
                   {"state", "text"},
                   {"model", "text"},
                   {"from_version", "integer"},
                   {"to_version", "integer"},
                   {"devices", "text"},
                   {"total_steps", "integer"},
                   {"predicted_peak_bytes", "bytes"},
                   {"predicted_step_ms", "real"},
                   {"predicted_end", "time"}};
  for (const int64_t id : jobs) {
    TRAIND_ASSIGN(const JobRecord job, LoadJob(connection, id));
    TRAIND_ASSIGN(std::vector<Cell> row, TrainRow(connection, job));
    reply.rows.push_back(std::move(row));
  }
  return reply;
}

Result<Reply> JobStateReply(Connection& connection, const std::vector<int64_t>& jobs) {
  Reply reply;
  reply.columns = {{"id", "integer"}, {"name", "text"}, {"state", "text"}, {"request", "text"}};
  for (const int64_t id : jobs) {
    TRAIND_ASSIGN(const JobRecord job, LoadJob(connection, id));
    reply.rows.push_back({job.id, TextOrNull(job.name), std::string(JobStateName(job.state)),
                          TextOrNull(std::string(JobRequestName(job.request)))});
  }
  return reply;
}

}  // namespace traind::daemon
