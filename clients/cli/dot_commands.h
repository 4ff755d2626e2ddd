// The shell's own commands: lines that begin with '.'.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/session.h"

namespace traind::cli {

// What is wrong with a dot command before it runs (an unknown name, a missing argument), else "".
std::string CheckDotCommand(const std::string& line);

// Their names: ".help", …
std::vector<std::string> DotCommandNames();

// Runs one; the exit code. Errors are reported.
int RunDotCommand(Session& session, const std::string& line);

}  // namespace traind::cli
