// Remarks go to standard error, above the progress bar.
#include "clients/cli/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include "clients/cli/text.h"

namespace traind::cli {
namespace {

// "job 7: RUNNING", "job 7: log line …"
std::string EventLine(const traind_event* event) {
  const char* kind = traind_event_kind(event);
  const char* text = nullptr;
  for (const char* key : {"state", "text", "detail"}) {
    if (text == nullptr) text = traind_event_text(event, key);
  }
  return fmt::format("job {}: {}\n", traind_event_job(event),
                     Printable(text == nullptr ? kind : text, false));
}

void TakeEvent(Session& session, const traind_event* event) {
  std::string_view kind = traind_event_kind(event);
  int64_t job = traind_event_job(event);
  bool seen = job == session.watched_job || session.progress.IsShown(job);
  if (kind == "progress") {
    session.progress.Update(ReadProgress(event));
  } else if (kind != "metric" && !(kind == "state" && seen)) {
    session.progress.Clear();
    WriteError(EventLine(event));
  }
}

}  // namespace

void Note(Session& session, std::string_view text) {
  session.progress.Clear();
  WriteError(fmt::format("note: {}\n", Printable(text, true)));
}

int Report(Session& session, const Diagnostic& diagnostic, const SourceText& source) {
  session.progress.Clear();
  session.out.Flush();
  Terminal terminal = LookAt(STDERR_FILENO);
  WriteError(FormatDiagnostic(diagnostic, source, {terminal.colour, terminal.width}));
  return traind_exit_code(diagnostic.code);
}

int Complain(Session& session, std::string_view text, int exit_code) {
  session.progress.Clear();
  session.out.Flush();
  WriteError(fmt::format("trainql: {}\n", Printable(text, true)));
  return exit_code;
}

int OutputTrouble(Session& session) {
  if (!session.out.closed()) return 0;
  std::string error = session.out.TakeError();
  return error.empty() ? kExitBrokenPipe : Complain(session, "cannot write the output: " + error);
}

void TakeEvents(Session& session, const std::function<void()>& before) {
  traind_event* event = nullptr;
  for (bool first = true; traind_next_event(session.conn, &event) == TRAIND_OK && event != nullptr;
       first = false) {
    if (first && before) before();
    TakeEvent(session, event);
    traind_event_free(event);
  }
}

}  // namespace traind::cli
