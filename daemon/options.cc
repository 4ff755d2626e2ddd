// Reading the command line, from one table of options.
#include "daemon/options.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <functional>

#include "engine/base/io.h"
#include "engine/base/nearest.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

struct Option {
  std::string_view name;
  std::string_view argument;  // empty: takes none
  std::string_view text;
  Status (*take)(const std::string& value, Options* options);
};

Status TakeNumber(const std::string& value, int* number) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *number);
  if (error != std::errc() || end != value.data() + value.size() || *number < 3) {
    return {ErrorCode::MISUSE,
            fmt::format("--socket-fd {}: expected the number of an inherited descriptor", value)};
  }
  return Ok();
}

Status TakeSeconds(const std::string& value, double* seconds) {
  const auto quantity = ParseQuantity(value);
  const bool fits = quantity.ok() && quantity->value >= 0 &&
                    (quantity->dimension == Dimension::kNumber || quantity->dimension == Dimension::kSeconds);
  if (!fits) return {ErrorCode::MISUSE, fmt::format("--idle-exit {}: expected seconds, as 300 or 5m", value)};
  *seconds = quantity->value;
  return Ok();
}

Status TakeMetricsLimit(const std::string& value, int64_t* bytes) {
  constexpr int64_t kLeast = int64_t{1} << 20, kMost = int64_t{1} << 50;
  const auto quantity = ParseQuantity(value);
  const bool fits = quantity.ok() && quantity->integral && quantity->dimension == Dimension::kBytes &&
                    quantity->integer >= kLeast && quantity->integer <= kMost;
  if (!fits) {
    return {ErrorCode::MISUSE,
            fmt::format("--metrics-limit {}: expected a size from 1MiB to 1024TiB, as 4GiB", value)};
  }
  *bytes = quantity->integer;
  return Ok();
}

Status TakeLevel(const std::string& value, LogLevel* level) {
  struct Row {
    std::string_view name;
    LogLevel level;
  };
  for (const Row& row : std::array<Row, 4>{{{"debug", LogLevel::kDebug},
                                            {"info", LogLevel::kInfo},
                                            {"warning", LogLevel::kWarning},
                                            {"error", LogLevel::kError}}}) {
    if (row.name != value) continue;
    *level = row.level;
    return Ok();
  }
  return {ErrorCode::MISUSE, fmt::format("--log-level {}: expected debug, info, warning or error", value)};
}

constexpr Option kOptions[] = {
    {"--state", "DIR", "the state directory (default: $XDG_STATE_HOME/traind, else ~/.local/state/traind)",
     [](const std::string& value, Options* options) {
       options->state_directory = value;
       return value.empty() ? Status(ErrorCode::MISUSE, "--state: expected a directory") : Ok();
     }},
    {"--idle-exit", "TIME", "leave when for this long no client was connected and no job had anything to do",
     [](const std::string& value, Options* options) {
       return TakeSeconds(value, &options->idle_exit_seconds);
     }},
    {"--metrics-limit", "SIZE",
     "when metrics.db holds more, the curves of ended jobs are thinned to about a thousand rows each, those "
     "of the "
     "oldest jobs first (default: 4GiB)",
     [](const std::string& value, Options* options) {
       return TakeMetricsLimit(value, &options->metrics_limit_bytes);
     }},
    {"--log-level", "LEVEL", "debug, info, warning or error (default: info); the log is DIR/traind.log",
     [](const std::string& value, Options* options) { return TakeLevel(value, &options->log_level); }},
    {"--foreground", "", "stay in the foreground; this is always so",
     [](const std::string&, Options*) { return Ok(); }},
    {"--embedded", "", "be the private daemon of one program, and end with it",
     [](const std::string&, Options* options) {
       options->embedded = true;
       return Ok();
     }},
    {"--socket-fd", "N", "with --embedded: the inherited socket to that program",
     [](const std::string& value, Options* options) {
       return TakeNumber(value, &options->socket_fd.emplace());
     }},
    {"--install", "", "run traind as your user service (systemd), or from an @reboot line of your crontab",
     [](const std::string&, Options* options) {
       options->action = Options::Action::kInstall;
       return Ok();
     }},
    {"--uninstall", "", "undo --install",
     [](const std::string&, Options* options) {
       options->action = Options::Action::kUninstall;
       return Ok();
     }},
    {"--version", "", "print the version",
     [](const std::string&, Options* options) {
       options->action = Options::Action::kVersion;
       return Ok();
     }},
    {"--help", "", "print this",
     [](const std::string&, Options* options) {
       options->action = Options::Action::kHelp;
       return Ok();
     }},
};

const Option* FindOption(std::string_view name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
  }
  return name == "-h" ? FindOption("--help") : nullptr;
}

Status UnknownArgument(const std::string& argument) {
  if (!argument.starts_with('-')) {
    return {ErrorCode::MISUSE, fmt::format("unexpected argument \"{}\"", argument),
            "traind --help lists the options"};
  }
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) names.push_back(option.name);
  const std::string nearest = NearestWord(argument.substr(0, argument.find('=')), names);
  return {ErrorCode::MISUSE,
          fmt::format("unknown option {}{}", argument,
                      nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)),
          "traind --help lists them"};
}

std::string DefaultState(const Environment& environment) {
  if (!environment.state_home.empty() && environment.state_home.front() == '/') {
    return environment.state_home + "/traind";
  }
  return environment.home.empty() ? std::string() : environment.home + "/.local/state/traind";
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments, const Environment& environment) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
    const Option* option = FindOption(argument.substr(0, equals));
    if (option == nullptr) {
      return UnknownArgument(argument);
    }
    std::string value;
    if (equals != std::string::npos) {
      if (option->argument.empty()) {
        return Status(ErrorCode::MISUSE, fmt::format("{} takes no value", option->name));
      }
      value = argument.substr(equals + 1);
    } else if (!option->argument.empty()) {
      if (++i == arguments.size()) {
        return Status(ErrorCode::MISUSE, fmt::format("{} needs {}", option->name, option->argument));
      }
      value = arguments[i];
    }
    TRAIND_TRY(option->take(value, &options));
  }
  if (options.action == Options::Action::kHelp || options.action == Options::Action::kVersion) return options;
  if (options.embedded != options.socket_fd.has_value()) {
    return Status(ErrorCode::MISUSE, "--embedded and --socket-fd go together");
  }
  if (options.state_directory.empty()) options.state_directory = DefaultState(environment);
  if (options.state_directory.empty()) {
    return Status(ErrorCode::MISUSE,
                  "neither HOME nor XDG_STATE_HOME is set: name the directory with --state");
  }
  options.state_directory = AbsolutePath(environment.directory, options.state_directory);
  return options;
}

std::vector<OptionText> AllOptions() {
  std::vector<OptionText> rows;
  for (const Option& option : kOptions) rows.push_back({option.name, option.argument, option.text});
  return rows;
}

std::string UsageText() {
  std::string text =
      "Usage: traind [--state DIR] [OPTION]...\n"
      "The training daemon: serves trainql and libtraind on DIR/traind.sock.\n\n";
  for (const Option& option : kOptions) {
    text += fmt::format("  {:<22} {}\n", fmt::format("{} {}", option.name, option.argument), option.text);
  }
  text += "\nManual: man traind. Statements: man 7 trainql.\n";
  return text;
}

}  // namespace traind::daemon
