// Starts a daemon process so that the host program does not notice: no SIGCHLD, no zombie, no inherited
// descriptors, signal dispositions or terminal.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "engine/base/descriptor.h"
#include "engine/base/status.h"

namespace traind::capi {

// A started daemon. Destruction forgets it; it is not ended.
struct Process {
  pid_t pid = -1;
  Descriptor watch;   // a pidfd: readable when the process has ended
  Descriptor output;  // a memory file with what it wrote to stderr

  // Waits until the process has ended; -1 waits without limit. True if it has ended. EINTR is waited through.
  bool WaitForEnd(int timeout_ms) const;
  // The last part of what it wrote to stderr, without the final newline.
  std::string OutputTail() const;
};

// Runs `program` with `arguments` (argv[0] included) in a session of its own: stdin and stdout are /dev/null,
// stderr a memory file, `socket` becomes descriptor kDaemonSocket (-1: none), nothing else is inherited but
// the environment and the current directory. DAEMON_UNREACHABLE with the system's reason if it cannot be
// executed.
Result<Process> Spawn(const std::string& program, const std::vector<std::string>& arguments, int socket);

inline constexpr int kDaemonSocket = 3;

}  // namespace traind::capi
