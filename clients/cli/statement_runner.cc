// The loop is: step without waiting; a row is printed, "again" waits for the daemon a while.
#include "clients/cli/statement_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>

#include "clients/cli/interrupt.h"
#include "clients/cli/render.h"
#include "clients/cli/text.h"

namespace traind::cli {
namespace {

constexpr int kPollMs = 200;  // how long the shell waits before it looks at signals again
constexpr size_t kPieceBytes = 32768;

bool IsNumber(std::string_view declared) {
  return declared == "integer" || declared == "real" || declared == "bytes" || declared == "seconds";
}

// Prints a statement's rows as they come.
class Printer {
 public:
  explicit Printer(Session& session) : session_(session) {}

  void Row(traind_stmt* stmt) {
    Begin(stmt);
    ++rows_;
    renderer_->Row(Read(stmt));
    if (text_.size() >= kPieceBytes) Emit();
  }

  // While the statement goes on: what is there is shown.
  void Flush() {
    flushed_ = true;
    if (renderer_ != nullptr) renderer_->Flush();
    Emit();
  }

  void End(traind_stmt* stmt) {
    if (traind_column_count(stmt) > 0) Begin(stmt);
    if (renderer_ == nullptr) return;
    renderer_->End();
    bool table = session_.format == "table" || session_.format == "box";
    if (table && session_.interactive && terminal_.is_terminal && !flushed_) {
      text_ += fmt::format("({} {})\n", rows_, rows_ == 1 ? "row" : "rows");
    }
    Emit();
  }

 private:
  void Begin(traind_stmt* stmt) {
    if (renderer_ != nullptr) return;
    terminal_ = LookAt(session_.out.descriptor());
    renderer_ =
        MakeRenderer(session_.format, {terminal_.is_terminal ? terminal_.width : 0, terminal_.utf8}, &text_);
    if (session_.any_result && renderer_->form() != RowForm::kJson) text_ += '\n';
    session_.any_result = true;
    std::vector<ColumnHead> heads;
    for (int32_t i = 0; i < traind_column_count(stmt); ++i) {
      const std::string_view declared = traind_column_declared(stmt, i);
      heads.push_back({traind_column_name(stmt, i), IsNumber(declared), declared == "json"});
    }
    renderer_->Begin(heads);
  }

  RowText Read(traind_stmt* stmt) {
    RowText row;
    const char* text = nullptr;
    int64_t length = 0;
    if (renderer_->form() == RowForm::kJson) {
      traind_row_json(stmt, &text, &length);
      row.json.assign(text, static_cast<size_t>(length));
      return row;
    }
    for (int32_t i = 0; i < traind_column_count(stmt); ++i) {
      if (renderer_->form() == RowForm::kRaw)
        traind_column_text(stmt, i, &text, &length);
      else
        traind_column_display(stmt, i, &text, &length);
      row.null.push_back(traind_column_type(stmt, i) == TRAIND_TYPE_NULL);
      row.cells.emplace_back(text == nullptr ? "" : text, text == nullptr ? 0 : static_cast<size_t>(length));
    }
    return row;
  }

  void Emit() {
    if (text_.empty()) return;
    session_.progress.Clear();
    session_.out.Write(text_);
    session_.out.Flush();
    text_.clear();
  }

  Session& session_;
  Terminal terminal_;
  std::unique_ptr<Renderer> renderer_;
  std::string text_;
  int64_t rows_ = 0;
  bool flushed_ = false;
};

void BindParameters(Session& session, traind_stmt* stmt) {
  for (int32_t i = 1; i <= traind_parameter_count(stmt); ++i) {
    auto value = session.parameters.find(traind_parameter_name(stmt, i));
    if (value == session.parameters.end()) continue;
    session.used_parameters.insert(value->first);
    BindText(stmt, i, value->second);
  }
}

// Steps to the end: TRAIND_DONE or an error's code. `row` gets each row, `idle` runs when a wait was long.
int32_t StepAll(Session& session, traind_stmt* stmt, const RowReader& row,
                const std::function<void()>& idle) {
  SetInterruptible(session.conn);
  while (true) {
    int32_t code = traind_step_nonblocking(stmt);
    if (code == TRAIND_ROW) {
      row(stmt);
      if (!session.out.closed()) continue;
      traind_reset(stmt);
      return TRAIND_DONE;
    }
    if (code != TRAIND_AGAIN) return code;
    TakeEvents(session, idle);  // after the rows that came before them
    auto began = std::chrono::steady_clock::now();
    traind_poll(session.conn, kPollMs);
    if (std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(kPollMs / 2)) idle();
  }
}

void PrintNotices(Session& session, traind_stmt* stmt) {
  for (int32_t i = 0; i < traind_notice_count(stmt); ++i) Note(session, traind_notice(stmt, i));
}

// What an error becomes as an exit code: the signal's own where one interrupted.
int Outcome(Session& session, traind_stmt* stmt, int32_t code, const SourceText& source) {
  if (code == TRAIND_DONE) return OutputTrouble(session);
  int signal = SignalSeen();
  if (code == TRAIND_INTERRUPTED && signal != 0) {
    session.progress.Clear();
    WriteError("interrupted\n");
    return TRAIND_EXIT_SIGNAL + signal;
  }
  return Report(session, LastDiagnostic(stmt), source);
}

// The number in column "id" of the current row, 0 if there is none.
int64_t JobOf(traind_stmt* stmt) {
  for (int32_t i = 0; i < traind_column_count(stmt); ++i) {
    int64_t job = 0;
    if (std::string_view(traind_column_name(stmt, i)) != "id") continue;
    traind_column_int64(stmt, i, &job);
    return job;
  }
  return 0;
}

// --wait and --follow.
int WaitForJob(Session& session, int64_t job) {
  int64_t subscription = 0;
  if (session.follow) traind_subscribe(session.conn, job, "log,budget", &subscription);
  int code = RunQuery(session, fmt::format("WAIT FOR JOB {}", job), {}, [](traind_stmt*) {});
  if (subscription != 0) traind_unsubscribe(session.conn, subscription);
  return code;
}

}  // namespace

int32_t BindText(traind_stmt* stmt, int32_t index, const std::string& text) {
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') {
    return traind_bind_text(stmt, index, text.data() + 1, static_cast<int64_t>(text.size()) - 2);
  }
  const char* end = text.data() + text.size();
  int64_t whole = 0;
  if (auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc() && read.ptr == end) {
    return traind_bind_int64(stmt, index, whole);
  }
  double real = 0;
  bool finite = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (auto read = std::from_chars(text.data(), end, real);
      finite && read.ec == std::errc() && read.ptr == end) {
    return traind_bind_double(stmt, index, real);
  }
  return traind_bind_text(stmt, index, text.data(), static_cast<int64_t>(text.size()));
}

std::string ColumnText(traind_stmt* stmt, int32_t column) {
  const char* text = nullptr;
  int64_t length = 0;
  traind_column_text(stmt, column, &text, &length);
  return text == nullptr ? "" : std::string(text, static_cast<size_t>(length));
}

int RunStatement(Session& session, traind_stmt* stmt, const SourceText& source) {
  BindParameters(session, stmt);
  session.progress.Reset();
  Printer printer(session);
  int64_t job = 0;
  auto began = std::chrono::steady_clock::now();
  int32_t code = StepAll(
      session, stmt,
      [&](traind_stmt* row) {
        if (job == 0) job = session.watched_job = JobOf(row);
        printer.Row(row);
      },
      [&] { printer.Flush(); });
  TakeEvents(session);
  if (code == TRAIND_DONE || traind_column_count(stmt) > 0) printer.End(stmt);
  PrintNotices(session, stmt);
  int outcome = Outcome(session, stmt, code, source);
  bool submitted = std::string_view(traind_stmt_kind(stmt)) == "TRAIN" && job > 0;
  if (outcome == 0 && session.wait && !session.check && submitted) outcome = WaitForJob(session, job);
  session.progress.Reset();
  session.watched_job = 0;
  if (session.timer) {
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    WriteError(fmt::format("time: {:.3f} s\n", took.count()));
  }
  return outcome;
}

int CollectRows(Session& session, traind_stmt* stmt, const SourceText& source, const RowReader& row) {
  BindParameters(session, stmt);
  int32_t code = StepAll(session, stmt, row, [] {});
  PrintNotices(session, stmt);
  return Outcome(session, stmt, code, source);
}

int RunQuery(Session& session, const std::string& text, const std::map<std::string, std::string>& parameters,
             const RowReader& row) {
  traind_stmt* stmt = nullptr;
  if (traind_prepare(session.conn, text.c_str(), -1, &stmt, nullptr) != TRAIND_OK || stmt == nullptr) {
    return Report(session, LastDiagnostic(session.conn), {"", text});
  }
  for (int32_t i = 1; i <= traind_parameter_count(stmt); ++i) {
    auto value = parameters.find(traind_parameter_name(stmt, i));
    if (value != parameters.end()) BindText(stmt, i, value->second);
  }
  int32_t code = StepAll(session, stmt, row, [] {});
  TakeEvents(session);
  int outcome = Outcome(session, stmt, code, {"", text});
  traind_stmt_free(stmt);
  return outcome;
}

}  // namespace traind::cli
