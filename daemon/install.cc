// The user service and the crontab line.
#include "daemon/install.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/statements/reboot_notice.h"
#include "engine/base/descriptor.h"
#include "engine/base/io.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"

extern char** environ;

namespace traind::daemon {
namespace {

constexpr std::string_view kCrontabMark = "# traind --install";

struct Finished {
  int exit_code = -1;
  std::string output;
};

// Runs a program of the PATH with `input` on standard input and takes its standard output.
Result<Finished> RunProgram(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0) return Status(ErrorCode::IO, strerror(errno));
  Descriptor in_read(in[0]);
  Descriptor in_write(in[1]);
  if (pipe2(out.data(), O_CLOEXEC) != 0) return Status(ErrorCode::IO, strerror(errno));
  const Descriptor out_read(out[0]);
  Descriptor out_write(out[1]);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in_read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out_write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A program that does not read its input ends with an exit code of its own, not with our SIGPIPE.
  signal(SIGPIPE, SIG_IGN);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("{}: {}", arguments[0], strerror(error)));
  in_read.reset();
  out_write.reset();
  if (write(in_write.get(), input.data(), input.size()) < 0 && errno != EPIPE) {
    Log(LogLevel::kWarning, "{}: {}", arguments[0], strerror(errno));
  }
  in_write.reset();
  Finished finished;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = read(out_read.get(), buffer.data(), buffer.size())) > 0;) {
    finished.output.append(buffer.data(), static_cast<size_t>(got));
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return finished;
}

bool Succeeds(const std::vector<std::string>& arguments) {
  const auto finished = RunProgram(arguments);
  return finished.ok() && finished->exit_code == 0;
}

Result<std::string> OwnProgram() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return Status(ErrorCode::IO, "/proc/self/exe cannot be read");
  return std::string(path.data(), static_cast<size_t>(length));
}

std::string UnitPath(const Environment& environment) {
  return environment.home + "/.config/systemd/user/traind.service";
}

// Workers are left to leave by themselves: they save first.
std::string UnitText(const std::string& program, const std::string& state) {
  return fmt::format(
      "[Unit]\nDescription=traind, the training daemon\n\n"
      "[Service]\nType=notify\nExecStart=\"{}\" --state \"{}\"\nRestart=on-failure\nWatchdogSec=30\n"
      "KillMode=process\nTimeoutStopSec=90\n\n"
      "[Install]\nWantedBy=default.target\n",
      program, state);
}

std::string MarkPath(const Options& options) {
  return options.state_directory + "/" + std::string(kInstalledMark);
}

bool HasUserManager() {
  return Succeeds({"systemctl", "--user", "show-environment"});
}

Status InstallService(const std::string& program, const Options& options, const Environment& environment) {
  const std::string unit = UnitPath(environment);
  TRAIND_TRY(PosixIo().MakeDirectories(unit.substr(0, unit.rfind('/'))));
  TRAIND_TRY(PublishFile(PosixIo(), unit, UnitText(program, options.state_directory)));
  if (!Succeeds({"systemctl", "--user", "daemon-reload"}) ||
      !Succeeds({"systemctl", "--user", "enable", "--now", "traind.service"})) {
    return {ErrorCode::IO, fmt::format("{} is written, but the service manager does not start it", unit),
            "systemctl --user status traind says why"};
  }
  const bool lingers = Succeeds({"loginctl", "enable-linger"});
  fputs(fmt::format("installed {} and started it{}\n", unit,
                    lingers
                        ? "; it runs from boot on"
                        : "; ask an administrator for: loginctl enable-linger, so that it runs from boot on")
            .c_str(),
        stdout);
  return Ok();
}

// The user's crontab without our line; empty if there is none.
Result<std::string> ForeignCrontab() {
  TRAIND_ASSIGN(const Finished listed, RunProgram({"crontab", "-l"}));
  std::string kept;
  std::istringstream lines(listed.exit_code == 0 ? listed.output : "");
  for (std::string line; std::getline(lines, line);) {
    if (!line.ends_with(kCrontabMark)) kept += line + "\n";
  }
  return kept;
}

Status WriteCrontab(const std::string& text) {
  TRAIND_ASSIGN(const Finished written, RunProgram({"crontab", "-"}, text));
  if (written.exit_code == 0) return Ok();
  return {ErrorCode::IO, "crontab refuses the new table"};
}

Status InstallCrontab(const std::string& program, const Options& options) {
  Result<std::string> kept = ForeignCrontab();
  if (!kept.ok()) {
    return {ErrorCode::FILE_NOT_FOUND, "there is neither a systemd user manager nor crontab",
            fmt::format("start at boot by other means: {} --state {}", program, options.state_directory)};
  }
  const std::string line =
      fmt::format("@reboot \"{}\" --state \"{}\" {}\n", program, options.state_directory, kCrontabMark);
  TRAIND_TRY(WriteCrontab(*kept + line));
  fputs(("installed in your crontab: " + line).c_str(), stdout);
  return Ok();
}

}  // namespace

Status Install(const Options& options, const Environment& environment) {
  TRAIND_ASSIGN(const std::string program, OwnProgram());
  if (options.state_directory.find_first_of("\"\n%\\$") != std::string::npos) {
    return {ErrorCode::STATE_UNUSABLE,
            fmt::format("{} cannot be written into a unit or crontab", options.state_directory),
            "choose a directory without quotes, $, % and backslashes"};
  }
  TRAIND_TRY(HasUserManager() ? InstallService(program, options, environment)
                              : InstallCrontab(program, options));
  TRAIND_TRY(PosixIo().MakeDirectories(options.state_directory));
  return PublishFile(PosixIo(), MarkPath(options), "");
}

Status Uninstall(const Options& options, const Environment& environment) {
  bool removed = false;
  const std::string unit = UnitPath(environment);
  if (const auto info = PosixIo().Stat(unit); info.ok() && info->kind == FileKind::kRegular) {
    Succeeds({"systemctl", "--user", "disable", "--now", "traind.service"});
    TRAIND_TRY(PosixIo().Remove(unit));
    Succeeds({"systemctl", "--user", "daemon-reload"});
    removed = true;
  }
  const auto listed = RunProgram({"crontab", "-l"});
  if (listed.ok() && listed->output.find(kCrontabMark) != std::string::npos) {
    TRAIND_ASSIGN(const std::string kept, ForeignCrontab());
    TRAIND_TRY(WriteCrontab(kept));
    removed = true;
  }
  TRAIND_TRY(PosixIo().Remove(MarkPath(options)));
  fputs(removed ? "removed\n" : "nothing was installed\n", stdout);
  return Ok();
}

}  // namespace traind::daemon
