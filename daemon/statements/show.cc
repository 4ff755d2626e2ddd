// SHOW: queries over the views, with the user's WHERE, ORDER BY and LIMIT.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <iterator>

#include "daemon/bind/job.h"
#include "daemon/bind/model.h"
#include "daemon/bind/values.h"
#include "daemon/statements/common.h"
#include "daemon/statements/show_rows.h"
#include "daemon/statements/statements.h"
#include "engine/base/limits.h"

namespace traind::daemon {
namespace {

using grammar::Show;
using What = grammar::Show::What;

constexpr ShownView kShown[] = {
    {What::kModels, "sys_models", "name, architecture, parameters, versions", "name", ""},
    {What::kVersions, "sys_versions", "model, version, job, step, tokens, val_loss, path", "model, version",
     ""},
    {What::kDatasets, "sys_datasets", "name, tokens, documents, bytes", "name", ""},
    {What::kTokenizers, "sys_tokenizers", "name, kind, vocab_size, end_of_text, bytes, models", "name", ""},
    {What::kJobs, "sys_jobs",
     "id, name, model, from_version, to_version, state, reason, step, total_steps, loss, val_loss, "
     "submitted_at, "
     "started_at, ended_at",
     "id", ""},
    {What::kJob, "sys_jobs", "*", "id", ""},
    {What::kMetrics, "sys_metrics",
     "job, step, tokens, loss, val_loss, learning_rate, grad_norm, tokens_per_second, mfu, time", "job, step",
     "step"},
    {What::kEvents, "sys_events", "job, time, kind, detail", "id", "id"},
    {What::kCheckpoints, "sys_checkpoints", "job, step, path, bytes, state, val_loss, best", "job, step", ""},
    {What::kGpus, "sys_gpus",
     "uuid, node, idx, type, kind, memory, memory_bytes, free_bytes, reserved_bytes, foreign_bytes, state, "
     "emulated, "
     "price_per_hour, name, threads, instruction_set",
     "node, idx", ""},
    {What::kSettings, "sys_settings", "name, value, source", "name", ""},
};

Status CheckFollow(const Show& show) {
  if (!show.follow) return {};
  if (show.order_by) {
    return Status(ErrorCode::INVALID_OPTION,
                  "FOLLOW gives rows in the order they come: ORDER BY cannot stand beside it")
        .At(show.order_by->position);
  }
  if (show.job || show.what == What::kEvents) return {};
  return Status(ErrorCode::MISSING_OPTION, "FOLLOW needs to know which job: FOR JOB n").At(show.position);
}

Result<Outcome> ShowVersion(const Context& context) {
  TRAIND_ASSIGN(const auto row, context.reader.QueryRow("SELECT sqlite_version()"));
  utsname system{};
  uname(&system);
  Reply reply;
  reply.columns = {{"traind", "text"}, {"sqlite", "text"}, {"compiler", "text"}, {"system", "text"}};
  reply.rows = {{std::string(TRAIND_VERSION), row ? row->front() : Cell(), std::string("g++ " __VERSION__),
                 fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
  return Done(std::move(reply));
}

// The names that the statement gives must exist, whatever rows there are.
Result<ShowScope> BindScope(const Show& show, const Context& context) {
  ShowScope scope;
  if (show.of) {
    TRAIND_ASSIGN(const ModelRecord model, FindModel(*show.of, context));
    scope.model = model.name;
  }
  if (show.job) {
    TRAIND_ASSIGN(scope.job, FindJob(*show.job, context));
  }
  if (show.limit) {
    TRAIND_ASSIGN(scope.limit, BindInteger(*show.limit, "LIMIT", 0, INT64_MAX));
  }
  return scope;
}

}  // namespace

Result<Outcome> Run(const Show& statement, const Context& context) {
  if (statement.what == What::kVersion) return ShowVersion(context);
  TRAIND_TRY(CheckFollow(statement));
  TRAIND_ASSIGN(const ShowScope scope, BindScope(statement, context));
  if (statement.what == What::kLogs) return ShowLogs(statement, scope, context);
  const auto* view = std::ranges::find(kShown, statement.what, &ShownView::what);
  return ShowView(statement, *view, scope, context);
}

}  // namespace traind::daemon
