// INCLUDE's file is read by the daemon, which gives its text back; it runs here like any script.
#include "clients/cli/script_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "clients/cli/dot_commands.h"
#include "clients/cli/interrupt.h"
#include "clients/cli/statement_runner.h"

namespace traind::cli {
namespace {

constexpr int32_t kMostErrors = 20;  // printed of one script

int ReportErrors(Session& session, traind_script* script, const SourceText& source) {
  int32_t count = traind_script_error_count(script);
  int exit_code = 0;
  for (int32_t i = 0; i < std::min(count, kMostErrors); ++i) {
    traind_error* error = nullptr;
    traind_script_error(script, i, &error);
    int code = Report(session, TakeDiagnostic(error), source);
    if (exit_code == 0) exit_code = code;
  }
  if (count > kMostErrors) WriteError(fmt::format("… and {} more errors\n", count - kMostErrors));
  return exit_code;
}

// A file that is no regular one is read too (a pipe from <(…)), but a directory is not.
std::string ReadAll(int descriptor, std::string* text) {
  std::string buffer(65536, '\0');
  while (text->size() <= static_cast<size_t>(TRAIND_MAX_SCRIPT_BYTES)) {
    ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR && SignalSeen() == 0) continue;
    if (count < 0) return strerror(errno);
    if (count == 0) return {};
    text->append(buffer, 0, static_cast<size_t>(count));
  }
  return {};
}

}  // namespace

Script::~Script() {
  traind_script_free(script_);
}

int Script::Check(Session& session, SourceText source, std::unique_ptr<Script>* out) {
  std::unique_ptr<Script> script(new Script(std::move(source)));
  script->text_ = SplitScript(script->source_.text);
  const std::string& statements = script->text_.statements;
  if (traind_check(session.conn, statements.data(), static_cast<int64_t>(statements.size()),
                   &script->script_) != TRAIND_OK) {
    return Report(session, LastDiagnostic(session.conn), script->source_);
  }
  int exit_code = ReportErrors(session, script->script_, script->source_);
  for (const DotLine& line : script->text_.lines) {
    std::string complaint = CheckDotCommand(line.command);
    if (complaint.empty()) continue;
    Complain(session, complaint);
    exit_code = TRAIND_EXIT_SYNTAX;
  }
  if (exit_code == 0) *out = std::move(script);
  return exit_code;
}

int Script::Run(Session& session, int depth) {
  int32_t count = traind_script_statement_count(script_);
  auto line = text_.lines.begin();
  int first_failure = 0;
  for (int32_t i = 0; i <= count && !session.quit; ++i) {
    int64_t begin = INT64_MAX, end = 0;
    if (i < count) traind_script_statement(script_, i, &begin, &end);
    for (; line != text_.lines.end() && static_cast<int64_t>(line->offset) < begin && !session.quit; ++line) {
      int code = session.check ? 0 : RunDotCommand(session, line->command);
      if (code != 0) return code;
    }
    if (i == count || session.quit) break;
    if (int signal = SignalSeen(); signal != 0) return TRAIND_EXIT_SIGNAL + signal;
    int code = RunStatementAt(session, i, depth);
    if (code != 0 && !session.check) return code;  // --check reports all that is wrong
    if (first_failure == 0) first_failure = code;
  }
  return first_failure;
}

int Script::RunStatementAt(Session& session, int32_t index, int depth) {
  traind_stmt* stmt = nullptr;
  if (traind_script_prepare(script_, index, &stmt) != TRAIND_OK) {
    return Report(session, LastDiagnostic(script_), source_);
  }
  bool include = std::string_view(traind_stmt_kind(stmt)) == "INCLUDE";
  int code = include ? RunInclude(session, stmt, depth) : RunStatement(session, stmt, source_);
  traind_stmt_free(stmt);
  return code;
}

int Script::RunInclude(Session& session, traind_stmt* stmt, int depth) {
  if (depth >= TRAIND_MAX_INCLUDE_DEPTH) {
    return Complain(
        session, fmt::format("{}: INCLUDE is nested deeper than {}", source_.name, TRAIND_MAX_INCLUDE_DEPTH),
        TRAIND_EXIT_SYNTAX);
  }
  SourceText included;
  int code = CollectRows(session, stmt, source_, [&](traind_stmt* row) {
    included.name = ColumnText(row, 0);
    included.text = ColumnText(row, 1);
  });
  return code == 0 ? RunScript(session, std::move(included), depth + 1) : code;
}

int RunScript(Session& session, SourceText source, int depth) {
  std::unique_ptr<Script> script;
  int code = Script::Check(session, std::move(source), &script);
  return code == 0 ? script->Run(session, depth) : code;
}

std::string ReadSource(const std::string& path, SourceText* out) {
  bool standard = path == "-";
  int descriptor = standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fmt::format("cannot read {}: {}", path, strerror(errno));
  out->name = standard ? "stdin" : path;
  std::string reason = ReadAll(descriptor, &out->text);
  if (!standard) close(descriptor);
  return reason.empty() ? "" : fmt::format("cannot read {}: {}", out->name, reason);
}

}  // namespace traind::cli
