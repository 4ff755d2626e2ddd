// traind's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/status.h"

namespace traind::daemon {

struct Options {
  enum class Action { kRun, kHelp, kVersion, kInstall, kUninstall };
  Action action = Action::kRun;
  std::string state_directory;  // absolute
  bool embedded = false;
  std::optional<int> socket_fd;  // an inherited connection, with --embedded
  double idle_exit_seconds = 0;  // 0: never
  int64_t metrics_limit_bytes = int64_t{4} << 30;
  LogLevel log_level = LogLevel::kInfo;
};

// Reads the arguments (without the program's name). MISUSE says what is wrong; `environment` gives HOME,
// XDG_STATE_HOME and the working directory's absolute path as "PWD".
struct Environment {
  std::string home;
  std::string state_home;
  std::string directory;
};
Result<Options> ParseOptions(const std::vector<std::string>& arguments, const Environment& environment);

// What --help prints.
std::string UsageText();

// The options as rows, for the manual.
struct OptionText {
  std::string_view name;
  std::string_view argument;  // empty: takes none
  std::string_view text;
};
std::vector<OptionText> AllOptions();

}  // namespace traind::daemon
