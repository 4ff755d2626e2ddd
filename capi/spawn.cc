// The start is double: clone() makes an intermediate that shares our memory and sends no signal when it ends;
// that one clones the daemon-to-be, which executes the program and is left to init. Both share our memory
// only until then (as vfork does), so nothing is copied and an error number needs no pipe. A fork would copy
// the host's page tables, and is unsafe after cuInit; a plain vfork or posix_spawn would leave the host a
// child to reap.
#include "capi/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace traind::capi {
namespace {

constexpr size_t kStackBytes = 65536;
constexpr int kFirstSafeDescriptor = 16;  // above all numbers that the daemon's own descriptors take
constexpr int kExecFailed = 127;
constexpr size_t kOutputTailBytes = 2000;

// Everything the children need, made ready beforehand: they may not allocate.
struct Plan {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int null = -1, output = -1, socket = -1;
  char* inner_stack = nullptr;
  pid_t pid = -1;
  int error = 0;
};

// Instrumented code and interceptors would see a thread that is none.
#define TRAIND_RAW __attribute__((no_sanitize("address", "thread", "undefined"), noinline))

TRAIND_RAW void ResetSignals() {
  // The kernel's own layout: a zeroed action is SIG_DFL. libc's sigaction is left out on purpose.
  std::array<unsigned long, 8> action{};
  for (int number = 1; number < _NSIG; ++number) {
    syscall(SYS_rt_sigaction, number, action.data(), nullptr, sizeof(unsigned long));
  }
  unsigned long none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
}

TRAIND_RAW void CloseFrom(unsigned first) {
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  long limit = std::min(sysconf(_SC_OPEN_MAX), 65536L);  // kernels before 5.9
  for (long number = first; number < limit; ++number) syscall(SYS_close, number);
}

TRAIND_RAW int BecomeDaemon(void* argument) {
  auto* plan = static_cast<Plan*>(argument);
  syscall(SYS_setsid);
  bool ready = syscall(SYS_dup3, plan->null, 0, 0) >= 0 && syscall(SYS_dup3, plan->null, 1, 0) >= 0 &&
               syscall(SYS_dup3, plan->output, 2, 0) >= 0 &&
               (plan->socket < 0 || syscall(SYS_dup3, plan->socket, kDaemonSocket, 0) >= 0);
  if (ready) {
    CloseFrom(plan->socket < 0 ? kDaemonSocket : kDaemonSocket + 1);
    ResetSignals();
    syscall(SYS_execve, plan->program, plan->arguments, plan->environment);
  }
  plan->error = errno;
  syscall(SYS_exit, kExecFailed);
  return kExecFailed;
}

TRAIND_RAW int StartDaemon(void* argument) {
  auto* plan = static_cast<Plan*>(argument);
  plan->pid = clone(BecomeDaemon, plan->inner_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, plan);
  if (plan->pid < 0) plan->error = errno;
  syscall(SYS_exit, 0);
  return 0;
}

// Two stacks in one mapping, unmapped with its owner.
class Stacks {
 public:
  Stacks()
      : base_(mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() {
    if (valid()) munmap(base_, 2 * kStackBytes);
  }
  bool valid() const { return base_ != MAP_FAILED; }
  char* top(int index) const {
    return static_cast<char*>(base_) + static_cast<size_t>(index + 1) * kStackBytes;
  }

 private:
  void* base_;
};

Descriptor Raised(int descriptor) {
  return Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstSafeDescriptor));
}

void RunPlan(const Stacks& stacks, Plan* plan) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  plan->inner_stack = stacks.top(1);
  pid_t intermediate = clone(StartDaemon, stacks.top(0), CLONE_VM | CLONE_VFORK, plan);
  if (intermediate < 0) plan->error = errno;
  if (intermediate > 0) waitpid(intermediate, nullptr, __WALL);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Status CannotStart(const std::string& program, int error) {
  return Status(ErrorCode::DAEMON_UNREACHABLE, fmt::format("cannot start {}: {}", program, strerror(error)),
                "install traind, or set TRAIND_BIN to its directory");
}

}  // namespace

bool Process::WaitForEnd(int timeout_ms) const {
  if (!watch.valid()) return true;  // it had ended before it could be watched
  pollfd entry{watch.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&entry, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

std::string Process::OutputTail() const {
  struct stat info {};
  if (!output.valid() || fstat(output.get(), &info) != 0 || info.st_size <= 0) return {};
  size_t length = std::min(static_cast<size_t>(info.st_size), kOutputTailBytes);
  std::string text(length, '\0');
  ssize_t got = pread(output.get(), text.data(), length, info.st_size - static_cast<off_t>(length));
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<Process> Spawn(const std::string& program, const std::vector<std::string>& arguments, int socket) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  Process process;
  process.output = Descriptor(memfd_create("traind-stderr", MFD_CLOEXEC));
  Descriptor raised_null = Raised(null.get()), raised_output = Raised(process.output.get());
  Descriptor raised_socket = socket < 0 ? Descriptor() : Raised(socket);
  Stacks stacks;
  if (!raised_null.valid() || !raised_output.valid() || (socket >= 0 && !raised_socket.valid()) ||
      !stacks.valid()) {
    return CannotStart(program, errno);
  }
  Plan plan{
      program.c_str(), argv.data(), environ, raised_null.get(), raised_output.get(), raised_socket.get(),
      nullptr,         -1,          0};
  RunPlan(stacks, &plan);
  if (plan.error != 0) return CannotStart(program, plan.error);
  process.pid = plan.pid;
  process.watch = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, plan.pid, 0)));
  if (!process.watch.valid() && errno != ESRCH) return CannotStart(program, errno);
  return process;
}

}  // namespace traind::capi
