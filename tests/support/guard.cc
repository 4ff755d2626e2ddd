// The guardian: a copy of the test's process, made before the test begins, that waits for its end.
#include "tests/support/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace traind::testing {
namespace {

constexpr int kMaxPasses = 500;  // a process may be starting another while it is killed
constexpr useconds_t kPassMicroseconds = 10000;

std::optional<pid_t> ProcessNumber(const std::string& name) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return pid;
}

[[noreturn]] void Guard(int watched, const std::string& mark) {
  setsid();
  prctl(PR_SET_NAME, "test-guardian");
  const int null = open("/dev/null", O_RDWR);
  for (int number = 0; number < 3; ++number) dup2(null, number);
  dup2(watched, 3);
  syscall(SYS_close_range, 4U, ~0U, 0U);
  pollfd entry{3, POLLIN, 0};
  while (poll(&entry, 1, -1) < 0 && errno == EINTR) {
  }
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const std::vector<pid_t> left = ProcessesOfRun(mark);
    if (left.empty()) break;
    for (const pid_t pid : left) kill(pid, SIGKILL);
    usleep(kPassMicroseconds);
  }
  _exit(0);
}

// The program begins anew with the mark, so that its own forks carry it too.
__attribute__((constructor)) void BeginRun(int, char** arguments, char**) {
  if (getenv(kRunVariable) != nullptr) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string mark = fmt::format("{}.{}.{}", getpid(), now.tv_sec, now.tv_nsec);
  const int watched = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (watched < 0) return;  // a kernel before 5.3: the test runs unguarded
  const pid_t guardian = fork();
  if (guardian == 0) {
    if (fork() != 0) _exit(0);  // no child that the test did not expect
    Guard(watched, mark);
  }
  if (guardian > 0) {
    siginfo_t ignored{};
    waitid(P_PID, static_cast<id_t>(guardian), &ignored, WEXITED);
  }
  close(watched);
  setenv(kRunVariable, mark.c_str(), 1);
  execv("/proc/self/exe", arguments);
}

}  // namespace

std::vector<pid_t> ProcessesOfRun(const std::string& mark) {
  const std::string variable = std::string(kRunVariable) + "=" + mark + '\0';
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::optional<pid_t> pid = ProcessNumber(entry.path().filename());
    if (!pid) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (environment.find(variable) != std::string::npos) found.push_back(*pid);
  }
  return found;
}

}  // namespace traind::testing
