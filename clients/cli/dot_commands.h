// The shell's own commands: lines that begin with '.'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clients/cli/session.h"

namespace traind::cli {

// What is wrong with a dot command before it runs (an unknown name, a missing argument), else "".
std::string CheckDotCommand(const std::string& line);

// Their names: ".help", …
std::vector<std::string> DotCommandNames();

// The commands as rows, for the manual.
struct DotCommandText {
  std::string_view name;
  std::string_view arguments;
  std::string_view text;
};
std::vector<DotCommandText> AllDotCommands();

// Runs one; the exit code. Errors are reported.
int RunDotCommand(Session& session, const std::string& line);

}  // namespace traind::cli
