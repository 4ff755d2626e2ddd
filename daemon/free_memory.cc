// /proc/meminfo and the cgroup's limits (version 2).
#include "daemon/free_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

namespace traind::daemon {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// The number after `key` at a line's start.
std::optional<int64_t> NumberAfter(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    if (fields >> word && word == key && fields >> number) return number;
  }
  return std::nullopt;
}

std::optional<int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;  // "max" is no number: no limit
  return std::nullopt;
}

int64_t LeftIn(const std::string& directory) {
  const auto limit = NumberIn(directory + "/memory.max");
  const auto used = NumberIn(directory + "/memory.current");
  if (!limit || !used) return kUnlimited;
  const int64_t droppable = NumberAfter(directory + "/memory.stat", "inactive_file").value_or(0);
  return std::max<int64_t>(*limit - *used + droppable, 0);
}

// The path in the line "0::/path".
std::string UnifiedPath(const std::string& self_cgroup) {
  std::istringstream lines(self_cgroup);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "/";
}

}  // namespace

int64_t FreeMemoryBytes(const std::string& meminfo_path, const std::string& cgroup_root,
                        const std::string& self_cgroup) {
  int64_t free = NumberAfter(meminfo_path, "MemAvailable:").value_or(0) * 1024;
  std::string path = UnifiedPath(self_cgroup);
  while (!path.empty()) {
    free = std::min(free, LeftIn(cgroup_root + (path == "/" ? "" : path)));
    if (path == "/") break;
    path.resize(path.rfind('/'));
    if (path.empty()) path = "/";
  }
  return free;
}

int64_t FreeMemoryBytes() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream content;
  content << file.rdbuf();
  return FreeMemoryBytes("/proc/meminfo", "/sys/fs/cgroup", content.str());
}

}  // namespace traind::daemon
