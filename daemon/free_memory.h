// How much memory this machine, or the cgroup this process is in, has left.
#pragma once

#include <cstdint>
#include <string>

namespace traind::daemon {

// The smaller of what the system says is available and what each memory limit of this process' cgroup and its
// ancestors leaves (file cache that can be dropped counts as free). Reads files: not on the loop.
int64_t FreeMemoryBytes();

// The same with other roots, for tests: a meminfo file, the cgroup file system, and the content of
// /proc/self/cgroup.
int64_t FreeMemoryBytes(const std::string& meminfo_path, const std::string& cgroup_root,
                        const std::string& self_cgroup);

}  // namespace traind::daemon
