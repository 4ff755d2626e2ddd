// posix_spawn with the worker's descriptors. It shares memory with the child until that executes, so that a
// large daemon is not copied.
#include "daemon/supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <optional>

#include "engine/spec/task.h"

extern char** environ;

namespace traind::daemon {
namespace {

// Descriptors are moved here before they are given their final numbers, so that no move hits another's
// source.
constexpr int kFirstFreeDescriptor = 16;

struct Target {
  int source = -1;
  int number = -1;
};

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&defaults, number);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

Status SystemError(std::string_view what, int error) {
  return {ErrorCode::IO, fmt::format("{}: {}", what, strerror(error))};
}

Result<pid_t> Start(const std::string& program, const std::vector<std::string>& arguments,
                    const std::vector<Target>& targets) {
  FileActions actions;
  Attributes attributes;
  std::vector<Descriptor> raised;
  for (const Target& target : targets) {
    raised.emplace_back(fcntl(target.source, F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
    if (!raised.back().valid()) return SystemError("a worker's descriptor cannot be copied", errno);
    posix_spawn_file_actions_adddup2(actions.get(), raised.back().get(), target.number);
  }
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), argv.data(), environ);
  if (error != 0) return SystemError(fmt::format("{} cannot be started", program), error);
  return pid;
}

Result<Descriptor> OpenNull() {
  Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return SystemError("/dev/null cannot be opened", errno);
  return null;
}

}  // namespace

Result<std::string> FindWorkerProgram() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return SystemError("/proc/self/exe cannot be read", errno);
  std::string program(path.data(), static_cast<size_t>(length));
  program.resize(program.rfind('/') + 1);
  program += "traind-worker";
  if (access(program.c_str(), X_OK) != 0) {
    return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("there is no {}", program),
                  "install traind and traind-worker into one directory");
  }
  return program;
}

Result<SpawnedWorker> SpawnWorker(const std::string& program, const std::vector<std::string>& arguments,
                                  const Descriptor& lock, const Descriptor& output) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return SystemError("a control socket cannot be made", errno);
  }
  SpawnedWorker worker;
  worker.control = Descriptor(pair[0]);
  const Descriptor theirs(pair[1]);
  TRAIND_ASSIGN(const Descriptor null, OpenNull());
  TRAIND_ASSIGN(worker.pid, Start(program, arguments,
                                  {{null.get(), STDIN_FILENO},
                                   {output.get(), STDOUT_FILENO},
                                   {output.get(), STDERR_FILENO},
                                   {theirs.get(), kControlDescriptor},
                                   {lock.get(), kLockDescriptor}}));
  return worker;
}

Result<SpawnedWorker> SpawnProbe(const std::string& program, const std::vector<std::string>& arguments,
                                 const Descriptor& output) {
  std::array<int, 2> pair{};
  if (pipe2(pair.data(), O_CLOEXEC) != 0) return SystemError("a pipe cannot be made", errno);
  SpawnedWorker worker;
  worker.control = Descriptor(pair[0]);
  const Descriptor theirs(pair[1]);
  TRAIND_ASSIGN(const Descriptor null, OpenNull());
  TRAIND_ASSIGN(
      worker.pid,
      Start(program, arguments,
            {{null.get(), STDIN_FILENO}, {theirs.get(), STDOUT_FILENO}, {output.get(), STDERR_FILENO}}));
  return worker;
}

}  // namespace traind::daemon
