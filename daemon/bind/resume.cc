// RESUME FROM: which checkpoint a new job starts from.
#include "daemon/bind/resume.h"

#include <fmt/format.h>

#include <optional>

#include "daemon/bind/model.h"
#include "daemon/bind/values.h"
#include "daemon/catalog/row.h"
#include "daemon/jobs/jobs.h"

namespace traind::daemon {
namespace {

struct Found {
  int64_t job = 0;
  int64_t step = 0;
  std::string path;
  std::string state;
};

Result<std::optional<Found>> QueryCheckpoint(const Context& context, std::string_view condition,
                                             std::vector<Cell> arguments) {
  TRAIND_ASSIGN(const auto cells,
                context.reader.QueryRow(
                    fmt::format("SELECT job_id, step, path, state FROM main._checkpoints c WHERE {} "
                                "ORDER BY job_id DESC, step DESC LIMIT 1",
                                condition),
                    arguments));
  if (!cells) return std::optional<Found>();
  RowReader row(*cells);
  Found found;
  found.job = row.Int();
  found.step = row.Int();
  found.path = row.Text();
  found.state = row.Text();
  return std::optional(std::move(found));
}

Result<std::optional<Found>> Newest(const ModelRecord& target, const Context& context) {
  return QueryCheckpoint(
      context, "state = 'complete' AND job_id = (SELECT max(id) FROM main._jobs WHERE target_model_id = ?1)",
      {target.id});
}

Result<std::optional<Found>> Named(const std::string& name, const ModelRecord& target,
                                   const Context& context) {
  TRAIND_ASSIGN(auto by_path, QueryCheckpoint(context, "path = ?1", {name}));
  if (by_path) return by_path;
  const std::string tail = "/" + name;
  return QueryCheckpoint(context,
                         "substr(path, -length(?1)) = ?1 AND job_id IN "
                         "(SELECT id FROM main._jobs WHERE target_model_id = ?2)",
                         {tail, target.id});
}

}  // namespace

Result<ResumePoint> BindResume(const grammar::ResumeClause& clause, const ModelRecord& model,
                               const ModelRecord& target, const Context& context) {
  const SourcePosition position = clause.checkpoint ? clause.checkpoint->position : clause.position;
  std::optional<Found> found;
  std::string wanted = fmt::format("the newest job of {} has no complete checkpoint", target.name);
  if (clause.checkpoint) {
    TRAIND_ASSIGN(const std::string name, BindText(*clause.checkpoint, "RESUME FROM CHECKPOINT"));
    TRAIND_ASSIGN(found, Named(name, target, context));
    wanted = fmt::format("{} has no checkpoint '{}'", target.name, name);
  } else {
    TRAIND_ASSIGN(found, Newest(target, context));
  }
  if (found && found->state != "complete")
    wanted = fmt::format("the checkpoint {} is {}", found->path, found->state);
  // The script's own job would have left one.
  if (!found && context.check && context.session.checked_versions.contains(target.name)) return ResumePoint{};
  if (!found || found->state != "complete") {
    return Status(ErrorCode::NO_SUCH_CHECKPOINT, wanted,
                  "SHOW CHECKPOINTS lists them; without RESUME training begins at a version")
        .At(position);
  }
  TRAIND_ASSIGN(const JobRecord job, LoadJob(context.reader, found->job));
  const std::string difference = ModelDifference(job.model_spec, model.spec);
  if (!difference.empty()) {
    return Status(ErrorCode::SPEC_DIFFERS,
                  fmt::format("the checkpoint is of a model with another specification: {}", difference))
        .At(position);
  }
  return ResumePoint{found->path, found->step, job.from_version};
}

}  // namespace traind::daemon
