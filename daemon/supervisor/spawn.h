// Starting traind-worker. On a pool thread: the parent's thread stands still until the child executes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "engine/base/descriptor.h"
#include "engine/base/status.h"

namespace traind::daemon {

// traind-worker beside this very program. FILE_NOT_FOUND says where it was looked for.
Result<std::string> FindWorkerProgram();

struct SpawnedWorker {
  pid_t pid = 0;       // leader of a session and process group of its own
  Descriptor control;  // our end of its control socket
};

// Starts the worker with descriptor 3 as its control socket, 4 as a copy of `lock`, /dev/null as input, and
// `output` as standard output and error. Nothing else is inherited.
Result<SpawnedWorker> SpawnWorker(const std::string& program, const std::vector<std::string>& arguments,
                                  const Descriptor& lock, const Descriptor& output);

// Runs `program` with standard output on a pipe: for --probe. The descriptor is the pipe's reading end.
Result<SpawnedWorker> SpawnProbe(const std::string& program, const std::vector<std::string>& arguments,
                                 const Descriptor& output);

}  // namespace traind::daemon
