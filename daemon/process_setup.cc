// Descriptors, limits, signals, and the service manager's datagram socket.
#include "daemon/process_setup.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "engine/base/descriptor.h"

namespace traind::daemon {
namespace {

constexpr unsigned kFirstInherited = 3;

void CloseRange(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  const auto limit = static_cast<unsigned>(std::min(sysconf(_SC_OPEN_MAX), 65536L));  // kernels before 5.9
  for (unsigned number = first; number <= std::min(last, limit); ++number) close(static_cast<int>(number));
}

}  // namespace

void SetUpProcess(std::optional<int> keep) {
  umask(077);
  signal(SIGPIPE, SIG_IGN);
  while (true) {  // a descriptor 0, 1 or 2 that is closed would be given to a socket
    const int null = open("/dev/null", O_RDWR);
    if (null < 0 || null > STDERR_FILENO) {
      if (null >= 0) close(null);
      break;
    }
  }
  if (keep) {
    const auto number = static_cast<unsigned>(*keep);
    CloseRange(kFirstInherited, number - 1);
    CloseRange(number + 1, ~0U);
    fcntl(*keep, F_SETFD, FD_CLOEXEC);
  } else {
    CloseRange(kFirstInherited, ~0U);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (chdir("/") != 0) return;  // only so that no mounted directory is held
}

void NotifyServiceManager(std::string_view state) {
  const char* path = getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || strlen(path) < 2 || strlen(path) >= sizeof address.sun_path) return;
  memcpy(address.sun_path, path, strlen(path));
  if (path[0] == '@') address.sun_path[0] = '\0';
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + strlen(path));
  // A service manager that does not listen is its own problem.
  if (sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    return;
  }
}

int64_t WatchdogIntervalMs() {
  const char* microseconds = getenv("WATCHDOG_USEC");
  return microseconds == nullptr ? 0 : std::max<int64_t>(strtoll(microseconds, nullptr, 10) / 2000, 0);
}

}  // namespace traind::daemon
