// What the shell's parts share: the connection, where output goes, and how it looks.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "capi/traind.h"
#include "clients/cli/diagnostics.h"
#include "clients/cli/options.h"
#include "clients/cli/progress.h"
#include "clients/cli/terminal.h"

namespace traind::cli {

inline constexpr int kExitBrokenPipe = TRAIND_EXIT_SIGNAL + 13;  // as if SIGPIPE had ended it

struct Session {
  traind_conn* conn = nullptr;
  Output out{1};
  std::string format = "table";
  std::map<std::string, std::string> parameters;
  std::set<std::string> used_parameters;
  Progress progress;
  int64_t watched_job = 0;  // the job that the running statement has submitted
  bool wait = false;
  bool follow = false;
  bool check = false;
  bool timer = false;
  bool interactive = false;
  bool quit = false;        // .quit
  bool any_result = false;  // results are parted by a blank line
};

// "note: …" on standard error.
void Note(Session& session, std::string_view text);

// Prints an error on standard error and gives its exit code.
int Report(Session& session, const Diagnostic& diagnostic, const SourceText& source);
// The same for an error of the shell's own.
int Complain(Session& session, std::string_view text, int exit_code = TRAIND_EXIT_FAILED);

// Whether output is over: 0, or the exit code (a closed pipe, quietly; a full disk, told).
int OutputTrouble(Session& session);

// Takes the events that have arrived: progress to the bar, others to standard error. `before` is called once
// if there is any.
void TakeEvents(Session& session, const std::function<void()>& before = {});

}  // namespace traind::cli
