// Machine: reads what Linux says in /proc and below /sys/fs/cgroup (version 2, version 1, or both mounted).
#include "engine/device/cpu/machine.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace traind {

namespace {

constexpr int64_t kUnlimited = INT64_MAX;
constexpr int kMaxProcessors = 8192;

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

std::string FirstLine(const std::string& path) {
  const std::string text = ReadText(path);
  return text.substr(0, text.find('\n'));
}

// The number after `key` in lines of "key: value kB" or "key value"; kibibytes are turned into bytes.
std::optional<int64_t> ReadField(const std::string& path, std::string_view key) {
  std::istringstream lines(ReadText(path));
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with(key) || line.size() == key.size()) continue;
    const char next = line[key.size()];
    if (next != ':' && next != ' ' && next != '\t') continue;
    std::istringstream rest(line.substr(key.size() + 1));
    int64_t value = 0;
    std::string unit;
    if (!(rest >> value)) return std::nullopt;
    rest >> unit;
    return unit == "kB" ? value * 1024 : value;
  }
  return std::nullopt;
}

// A file of one number; "max", a missing file and version 1's "no limit" (a number near 2^63) are kUnlimited.
int64_t ReadLimit(const std::string& path) {
  std::istringstream text(ReadText(path));
  int64_t value = 0;
  if (!(text >> value) || value < 0 || value > (int64_t{1} << 60)) return kUnlimited;
  return value;
}

// A controller's directories for this process: its own group's and those above it.
struct Hierarchy {
  bool version2 = false;
  std::vector<std::string> directories;
};

std::vector<std::string> WithParents(const std::string& mount, std::string group) {
  std::vector<std::string> directories;
  while (!group.empty() && group != "/") {
    directories.push_back(mount + group);
    group.resize(group.rfind('/'));
  }
  directories.push_back(mount);
  return directories;
}

// Lines of /proc/self/cgroup are "number:controllers:group"; version 2 has the number 0 and no controllers.
std::vector<Hierarchy> HierarchiesOf(const std::string& root, std::string_view controller) {
  std::vector<Hierarchy> found;
  std::istringstream lines(ReadText(root + "/proc/self/cgroup"));
  std::string line;
  while (std::getline(lines, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    const std::string base = root + "/sys/fs/cgroup";
    if (controllers == ",,") {
      found.push_back({true, WithParents(base, group)});
    } else if (controllers.find("," + std::string(controller) + ",") != std::string::npos) {
      found.push_back({false, WithParents(base + "/" + std::string(controller), group)});
    }
  }
  return found;
}

// Processors' worth of time that a group's quota allows, or kUnlimited.
double QuotaProcessors(const std::string& directory, bool version2) {
  double quota = 0, period = 0;
  if (version2) {
    std::istringstream text(ReadText(directory + "/cpu.max"));
    if (!(text >> quota >> period)) return static_cast<double>(kUnlimited);
  } else {
    std::istringstream quota_text(ReadText(directory + "/cpu.cfs_quota_us"));
    std::istringstream period_text(ReadText(directory + "/cpu.cfs_period_us"));
    if (!(quota_text >> quota) || !(period_text >> period)) return static_cast<double>(kUnlimited);
  }
  return quota > 0 && period > 0 ? quota / period : static_cast<double>(kUnlimited);
}

int64_t GroupLimit(const std::string& directory, bool version2) {
  if (!version2) return ReadLimit(directory + "/memory.limit_in_bytes");
  return std::min(ReadLimit(directory + "/memory.max"), ReadLimit(directory + "/memory.high"));
}

// What a group with a limit still has.
int64_t GroupFree(const std::string& directory, bool version2, int64_t limit) {
  const int64_t used = ReadLimit(directory + (version2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (used == kUnlimited) return limit;
  const std::string statistics = directory + "/memory.stat";
  const std::string prefix = version2 ? "" : "total_";
  const int64_t droppable = ReadField(statistics, prefix + "inactive_file").value_or(0) +
                            ReadField(statistics, prefix + "active_file").value_or(0);
  return std::max<int64_t>(0, limit - std::max<int64_t>(0, used - droppable));
}

}  // namespace

int Machine::AffinityProcessors() {
  for (int processors = CPU_SETSIZE; processors <= kMaxProcessors; processors *= 2) {
    cpu_set_t* set = CPU_ALLOC(processors);
    if (set == nullptr) return 1;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max(1, count);
  }
  return 1;
}

int Machine::AllowedThreads() const {
  double allowed = AffinityProcessors();
  for (const Hierarchy& hierarchy : HierarchiesOf(root_, "cpu")) {
    for (const std::string& directory : hierarchy.directories) {
      allowed = std::min(allowed, QuotaProcessors(directory, hierarchy.version2));
    }
  }
  const int whole = static_cast<int>(allowed);
  return std::max(1, whole < allowed ? whole + 1 : whole);
}

std::string Machine::CpuModelName() const {
  std::istringstream lines(ReadText(root_ + "/proc/cpuinfo"));
  std::string line;
  while (std::getline(lines, line)) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system = {};
  return uname(&system) == 0 ? system.machine : "unknown";
}

int64_t Machine::InstalledMemoryBytes() const {
  int64_t installed = ReadField(root_ + "/proc/meminfo", "MemTotal").value_or(0);
  for (const Hierarchy& hierarchy : HierarchiesOf(root_, "memory")) {
    for (const std::string& directory : hierarchy.directories) {
      installed = std::min(installed, GroupLimit(directory, hierarchy.version2));
    }
  }
  return installed;
}

int64_t Machine::FreeMemoryBytes() const {
  int64_t available = ReadField(root_ + "/proc/meminfo", "MemAvailable").value_or(0);
  for (const Hierarchy& hierarchy : HierarchiesOf(root_, "memory")) {
    for (const std::string& directory : hierarchy.directories) {
      const int64_t limit = GroupLimit(directory, hierarchy.version2);
      if (limit == kUnlimited) continue;
      available = std::min(available, GroupFree(directory, hierarchy.version2, limit));
    }
  }
  return available;
}

int64_t Machine::ResidentBytes() const {
  return ReadField(root_ + "/proc/self/status", "VmRSS").value_or(0);
}

int64_t Machine::PeakResidentBytes() const {
  return ReadField(root_ + "/proc/self/status", "VmHWM").value_or(0);
}

std::string Machine::MachineId() const {
  return FirstLine(root_ + "/etc/machine-id");
}

}  // namespace traind
