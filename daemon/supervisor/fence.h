// Fencing: at most one attempt of a job lives, because each holds the job's lock through an open file that
// its processes inherit. A number of a process proves nothing; the lock does.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/base/descriptor.h"
#include "engine/base/status.h"

namespace traind::daemon {

// Opens and locks `path`. nullopt: processes of an earlier attempt still hold it.
Result<std::optional<Descriptor>> TryFence(const std::string& path);

// The process groups of this user's workers that hold `path` open as their lock.
std::vector<pid_t> FenceHolders(const std::string& path);

}  // namespace traind::daemon
