// Jobs of statements, by number or name.
#include "daemon/bind/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "daemon/bind/values.h"
#include "daemon/catalog/row.h"
#include "daemon/jobs/jobs.h"
#include "engine/base/nearest.h"

namespace traind::daemon {
namespace {

Result<std::optional<int64_t>> ById(int64_t id, const Context& context) {
  TRAIND_ASSIGN(const auto row, context.reader.QueryRow("SELECT id FROM main._jobs WHERE id = ?1", {id}));
  return row ? std::optional(id) : std::nullopt;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() < 19 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::optional<int64_t>> ByText(const std::string& text, const Context& context) {
  TRAIND_ASSIGN(const auto id, NewestJobNamed(context.reader, text));
  if (id || !IsNumber(text)) return id;
  return ById(std::stoll(text), context);
}

// Whether the script, which is only checked, would have made the job before this statement.
Result<bool> ScriptMakes(const grammar::Value& value, const Context& context) {
  const std::vector<std::string>& made = context.session.checked_jobs;
  if (!context.check || made.empty()) return false;
  if (value.kind != grammar::Value::Kind::kQuantity && !IsNumber(value.text)) {
    return std::ranges::find(made, value.text) != made.end();
  }
  TRAIND_ASSIGN(const auto row, context.reader.QueryRow("SELECT coalesce(max(id), 0) FROM main._jobs"));
  const int64_t before = row ? RowReader(*row).Int() : 0;
  const int64_t number =
      value.kind == grammar::Value::Kind::kQuantity ? value.quantity.integer : std::stoll(value.text);
  return number > before && number <= before + static_cast<int64_t>(made.size());
}

Result<std::string> NearestName(const std::string& name, const Context& context) {
  TRAIND_ASSIGN(const auto rows,
                context.reader.Query("SELECT DISTINCT name FROM main._jobs WHERE name <> ''"));
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(RowReader(row).Text());
  return NearestWord(name, std::vector<std::string_view>(names.begin(), names.end()));
}

}  // namespace

Result<int64_t> FindJob(const grammar::JobRef& job, const Context& context) {
  TRAIND_ASSIGN(const bool script_makes, ScriptMakes(job.value, context));
  if (script_makes) return kCheckedJob;
  if (job.value.kind == grammar::Value::Kind::kQuantity) {
    TRAIND_ASSIGN(const int64_t number, BindInteger(job.value, "a job's number", 1, INT64_MAX));
    TRAIND_ASSIGN(const auto found, ById(number, context));
    if (found) return number;
    return Status(ErrorCode::NO_SUCH_JOB, fmt::format("there is no job {}", number), "SHOW JOBS lists them")
        .At(job.value.position);
  }
  TRAIND_ASSIGN(const auto found, ByText(job.value.text, context));
  if (found) return *found;
  TRAIND_ASSIGN(const std::string nearest, NearestName(job.value.text, context));
  return Status(ErrorCode::NO_SUCH_JOB, fmt::format("there is no job {}", job.value.text),
                nearest.empty() ? "SHOW JOBS lists them" : fmt::format("did you mean {}?", nearest))
      .At(job.value.position);
}

Result<std::vector<FoundJob>> FindJobs(const std::vector<grammar::JobRef>& jobs, const Context& context) {
  std::vector<FoundJob> found;
  for (const grammar::JobRef& job : jobs) {
    TRAIND_ASSIGN(const int64_t id, FindJob(job, context));
    if (std::ranges::find(found, id, &FoundJob::id) == found.end()) found.push_back({id, job.value.position});
  }
  return found;
}

std::vector<int64_t> IdsOf(const std::vector<FoundJob>& jobs) {
  std::vector<int64_t> ids;
  for (const FoundJob& job : jobs) ids.push_back(job.id);
  return ids;
}

}  // namespace traind::daemon
