// How a worker process ends.
#pragma once

namespace traind::worker {

enum ExitCode {
  kExitDone = 0,     // said "finished" or "result", or the daemon was gone
  kExitFailed = 1,   // said "failed"
  kExitUsage = 2,    // wrong arguments, or not started by a daemon
  kExitUnheard = 3,  // what it had to say could not be sent
};

}  // namespace traind::worker
