// Runs whole scripts: checked first, then one statement or dot command after the other until one fails.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clients/cli/script_text.h"
#include "clients/cli/session.h"

namespace traind::cli {

// A script that was checked.
class Script {
 public:
  // Asks the daemon to check all statements, and looks at the dot commands' names. Reports every error; the
  // exit code, 0 if there is none. Nothing has run then.
  static int Check(Session& session, SourceText source, std::unique_ptr<Script>* out);

  // Runs it; the exit code of what failed, else 0. `depth` counts INCLUDE within INCLUDE.
  int Run(Session& session, int depth = 0);

  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

 private:
  explicit Script(SourceText source) : source_(std::move(source)) {}

  int RunStatementAt(Session& session, int32_t index, int depth);
  int RunInclude(Session& session, traind_stmt* stmt, int depth);

  SourceText source_;
  ScriptText text_;
  traind_script* script_ = nullptr;
};

// Check and Run in one.
int RunScript(Session& session, SourceText source, int depth = 0);

// The text of a file ("-": standard input): at most what the daemon takes and one byte. The reason if it
// cannot be read, else "".
std::string ReadSource(const std::string& path, SourceText* out);

}  // namespace traind::cli
