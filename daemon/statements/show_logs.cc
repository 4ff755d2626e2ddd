// SHOW LOGS: the lines of a job's log, once or followed.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/bind/job.h"
#include "daemon/bind/sql.h"
#include "daemon/jobs/jobs.h"
#include "daemon/statements/show_rows.h"
#include "daemon/statements/statements.h"
#include "engine/base/json.h"
#include "engine/base/limits.h"

namespace traind::daemon {
namespace {

using grammar::Show;

constexpr int64_t kReadBytes = 1 << 20;      // of one reading of a follow
constexpr size_t kMaxLineBytes = 64 * 1024;  // a longer line is shown in pieces
constexpr std::string_view kLinesParameter = "_traind_lines";

struct LogPart {
  std::vector<std::string> lines;
  int64_t end = 0;  // where the next reading begins
};

// Cuts off whole lines; the last, unfinished one too if `all`.
LogPart CutLines(std::string_view text, int64_t begin, bool all) {
  LogPart part;
  size_t at = 0;
  while (at < text.size()) {
    const size_t newline = text.find('\n', at);
    const size_t end =
        std::min(newline == std::string_view::npos ? text.size() : newline, at + kMaxLineBytes);
    const bool finished = newline != std::string_view::npos || end - at == kMaxLineBytes;
    if (!finished && !all) break;
    part.lines.emplace_back(text.substr(at, end - at));
    at = end == newline ? end + 1 : end;
  }
  part.end = begin + static_cast<int64_t>(at);
  return part;
}

// The log from `begin` on, at most `most` bytes. A log that has not been written yet is empty; one that has
// become shorter was cut, and is read from its start.
Result<LogPart> ReadLog(Io& io, const std::string& path, int64_t begin, int64_t most, bool all) {
  TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
  if (info.kind == FileKind::kMissing) return LogPart{};
  TRAIND_ASSIGN(const auto file, io.OpenRead(path));
  if (file->size() < begin) begin = 0;
  std::string text(static_cast<size_t>(std::min(most, file->size() - begin)), '\0');
  TRAIND_TRY(file->ReadAt(begin, std::as_writable_bytes(std::span(text.data(), text.size()))));
  return CutLines(text, begin, all);
}

UserSql QueryOf(const Show& show, const ShowScope& scope, const std::vector<std::string>& lines) {
  UserSql sql(show.position);
  const bool newest = show.follow && scope.limit;
  const std::string rows =
      fmt::format("(SELECT key AS _number, value AS line FROM json_each(${}))", kLinesParameter);
  sql.Add(newest ? fmt::format("SELECT line FROM (SELECT * FROM {}", rows) : "SELECT line FROM " + rows);
  if (show.where) sql.Add(" WHERE (").Add(*show.where).Add(")");
  sql.Add(" ORDER BY ");
  if (newest) {
    sql.Add(fmt::format("_number DESC LIMIT {}) ORDER BY _number", *scope.limit));
  } else {
    if (show.order_by) {
      sql.Add(*show.order_by);
    } else {
      sql.Add("_number");
    }
    if (scope.limit) sql.Add(fmt::format(" LIMIT {}", *scope.limit));
  }
  sql.Bind(std::string(kLinesParameter), DumpJson(Json(lines)));
  return sql;
}

struct Follower {
  Show show;
  ShowScope scope;
  std::string path;
  SessionState session;
  std::map<std::string, grammar::Value> parameters;
  const DaemonState* daemon;

  Result<std::vector<std::vector<Cell>>> operator()(Reader& reader, int64_t* after) const {
    const Context context{session, *daemon, reader, "", "", false, parameters};
    TRAIND_ASSIGN(const LogPart part, ReadLog(*daemon->io, path, *after, kReadBytes, false));
    *after = part.end;
    if (part.lines.empty()) return std::vector<std::vector<Cell>>();
    TRAIND_ASSIGN(Reader::Table table, QueryOf(show, scope, part.lines).Run(context, kMaxResultRows));
    return std::move(table.rows);
  }
};

}  // namespace

Result<Outcome> ShowLogs(const Show& show, const ShowScope& scope, const Context& context) {
  if (!scope.job) {
    return Status(ErrorCode::MISSING_OPTION, "SHOW LOGS needs to know which job: FOR JOB n")
        .At(show.position);
  }
  if (*scope.job == kCheckedJob) {
    TRAIND_ASSIGN(Reply reply, RunForReply(QueryOf(show, scope, {}), context));
    return Done(std::move(reply));
  }
  TRAIND_ASSIGN(const JobRecord job, LoadJob(context.reader, *scope.job));
  const std::string path = job.directory + "/worker.log";
  TRAIND_ASSIGN(const LogPart part, ReadLog(*context.daemon.io, path, 0, kMaxWorkerLogBytes, !show.follow));
  TRAIND_ASSIGN(Reply reply, RunForReply(QueryOf(show, scope, part.lines), context));
  if (!show.follow || context.check) return Done(std::move(reply));

  FollowOutcome follow;
  follow.reply = std::move(reply);
  follow.job = job.id;
  follow.what = FollowOutcome::What::kLogs;
  follow.after = part.end;
  ShowScope rest = scope;
  rest.limit.reset();
  follow.next = Follower{show, rest, path, context.session, context.parameters, &context.daemon};
  return Done(std::move(follow));
}

}  // namespace traind::daemon
