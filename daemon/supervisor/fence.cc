// The lock file of a job, and who still has it.
#include "daemon/supervisor/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "engine/spec/task.h"

namespace traind::daemon {
namespace {

constexpr std::string_view kWorkerName = "traind-worker";

bool IsWorker(const std::string& process) {
  std::ifstream file(process + "/comm");
  std::string name;
  return std::getline(file, name) && name == kWorkerName;
}

bool HoldsLock(const std::string& process, const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const std::string link = fmt::format("{}/fd/{}", process, kLockDescriptor);
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return length > 0 && std::string_view(target.data(), static_cast<size_t>(length)) == path;
}

}  // namespace

Result<std::optional<Descriptor>> TryFence(const std::string& path) {
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) {
    return Status(errno == ENOSPC ? ErrorCode::DISK_FULL : ErrorCode::IO,
                  fmt::format("{} cannot be opened: {}", path, strerror(errno)));
  }
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return std::optional<Descriptor>(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<Descriptor>();
  return Status(ErrorCode::IO, fmt::format("{} cannot be locked: {}", path, strerror(errno)));
}

std::vector<pid_t> FenceHolders(const std::string& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  std::vector<pid_t> groups;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string process = entry->path().string();
    char* rest = nullptr;
    const long pid = std::strtol(entry->path().filename().c_str(), &rest, 10);
    if (*rest != '\0' || pid <= 1 || !IsWorker(process) || !HoldsLock(process, real)) continue;
    const pid_t group = getpgid(static_cast<pid_t>(pid));
    if (group > 1 && std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

}  // namespace traind::daemon
