// Checks before anything is written, in the order in which they protect each other.
#include "daemon/state_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "engine/base/io.h"
#include "engine/base/limits.h"
#include "engine/base/publish.h"

namespace traind::daemon {
namespace {

constexpr int kListenQueue = 256;
constexpr int kDeadHolderTries = 100;
constexpr useconds_t kDeadHolderPauseMicroseconds = 20000;

// Network file systems, whose locks and shared memory SQLite cannot rely on (statfs' f_type).
struct NetworkFileSystem {
  unsigned long magic;
  std::string_view name;
};
constexpr std::array<NetworkFileSystem, 6> kNetworkFileSystems = {{{0x6969, "NFS"},
                                                                   {0xff534d42, "CIFS"},
                                                                   {0xfe534d42, "SMB2"},
                                                                   {0x517b, "SMB"},
                                                                   {0x5346414f, "AFS"},
                                                                   {0x01021997, "9P"}}};

Status Unusable(std::string message, std::string hint) {
  return {ErrorCode::STATE_UNUSABLE, std::move(message), std::move(hint)};
}

Status SystemFailure(std::string_view what, const std::string& path) {
  const int error = errno;
  const ErrorCode code =
      error == ENOSPC || error == EDQUOT ? ErrorCode::DISK_FULL : ErrorCode::STATE_UNUSABLE;
  return {code, fmt::format("{} {}: {}", what, path, strerror(error)),
          "choose another directory with --state"};
}

bool IsEmpty(int directory) {
  DIR* stream = fdopendir(dup(directory));
  if (stream == nullptr) return false;
  int entries = 0;
  while (readdir(stream) != nullptr) ++entries;
  closedir(stream);
  return entries <= 2;  // "." and ".."
}

// A new directory is made private; one that has content and is open to others was not made for this.
Status CheckMode(int directory, const struct stat& info, const std::string& path) {
  const mode_t mode = info.st_mode & 07777;
  if ((mode & 077) == 0) return Ok();
  if ((mode & 022) == 0 && IsEmpty(directory)) {
    return fchmod(directory, 0700) == 0 ? Ok() : SystemFailure("cannot make private", path);
  }
  return Unusable(fmt::format("{} has mode {:03o}: others can get into it; expected 700", path, mode),
                  fmt::format("chmod 700 {}, or another directory with --state", path));
}

// Somebody who may rename our directory away can put another in its place.
Status CheckParent(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/')).empty() ? "/" : path.substr(0, path.rfind('/'));
  struct stat info {};
  if (stat(parent.c_str(), &info) != 0) return SystemFailure("cannot look at", parent);
  const bool others_write = (info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0;
  if (!others_write) return Ok();
  return Unusable(fmt::format("{} is writable by everybody: {} could be replaced", parent, path),
                  fmt::format("chmod o-w {}, or another directory with --state", parent));
}

Status CheckFileSystem(int directory, const std::string& path) {
  struct statfs info {};
  if (fstatfs(directory, &info) != 0) return SystemFailure("cannot look at the file system of", path);
  for (const NetworkFileSystem& row : kNetworkFileSystems) {
    if (static_cast<unsigned long>(info.f_type) != row.magic) continue;
    return Unusable(fmt::format("{} lies on {}, where locks cannot be relied on", path, row.name),
                    "choose a directory on a local disk with --state");
  }
  return Ok();
}

Result<std::string> RealPath(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  if (realpath(path.c_str(), real.data()) == nullptr) return SystemFailure("cannot find", path);
  return std::string(real.data());
}

Status CheckDirectory(const std::string& path) {
  const Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!directory.valid() || fstat(directory.get(), &info) != 0) return SystemFailure("cannot open", path);
  if (info.st_uid != geteuid()) {
    return Unusable(
        fmt::format("{} belongs to user {}, not to user {} who runs traind", path, info.st_uid, geteuid()),
        "choose a directory of your own with --state");
  }
  TRAIND_TRY(CheckMode(directory.get(), info, path));
  TRAIND_TRY(CheckParent(path));
  return CheckFileSystem(directory.get(), path);
}

Status CheckSocketPath(const std::string& path) {
  const std::string socket = path + "/traind.sock";
  if (static_cast<int64_t>(socket.size()) <= kMaxSocketPathBytes) return Ok();
  return Unusable(fmt::format("the socket's path {} has {} bytes; the system allows {}", socket,
                              socket.size(), kMaxSocketPathBytes),
                  "choose a shorter directory with --state");
}

// What the holder has written into the lock file: its number and what it is; empty if it has not yet.
std::string HolderText(int lock) {
  std::array<char, 256> text{};
  if (pread(lock, text.data(), text.size() - 1, 0) <= 0) return "";
  const std::string line(text.data());
  return line.substr(0, line.find('\n'));
}

// The process that holds the lock; 0 if it has not said.
pid_t HolderOf(int lock) {
  return static_cast<pid_t>(strtol(HolderText(lock).c_str(), nullptr, 10));
}

bool WriteHolder(int lock, std::string_view what) {
  const std::string text = fmt::format("{}{}\n", getpid(), what);
  return ftruncate(lock, 0) == 0 && pwrite(lock, text.data(), text.size(), 0) >= 0;
}

// A lock whose owner has died is free in a moment: a child of it that is just being started still has a copy.
bool TryLock(int lock) {
  for (int tries = 0; flock(lock, LOCK_EX | LOCK_NB) != 0; ++tries) {
    const pid_t holder = HolderOf(lock);
    const bool dead = holder > 0 && kill(holder, 0) != 0 && errno == ESRCH;
    if (!dead || tries == kDeadHolderTries) return false;
    usleep(kDeadHolderPauseMicroseconds);
  }
  return true;
}

Result<Descriptor> TakeLock(const std::string& path) {
  const std::string name = path + "/traind.lock";
  Descriptor lock(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return SystemFailure("cannot open", name);
  if (!TryLock(lock.get())) {
    const std::string holder = HolderText(lock.get());
    return Status(
        ErrorCode::STATE_IN_USE,
        fmt::format("{} is in use by {}", path, holder.empty() ? "another process" : "process " + holder),
        "use that daemon, or another directory with --state");
  }
  if (!WriteHolder(lock.get(), "")) return SystemFailure("cannot write", name);
  return lock;
}

}  // namespace

Result<StateDirectory> StateDirectory::Open(const std::string& path) {
  TRAIND_TRY(CheckSocketPath(path));
  const Status made = PosixIo().MakeDirectories(path);
  if (!made.ok()) {
    return Status(made.code() == ErrorCode::DISK_FULL ? made.code() : ErrorCode::STATE_UNUSABLE,
                  made.message(), "choose another directory with --state");
  }
  TRAIND_ASSIGN(const std::string real, RealPath(path));
  TRAIND_TRY(CheckDirectory(real));
  TRAIND_TRY(CheckSocketPath(real));
  TRAIND_ASSIGN(Descriptor lock, TakeLock(real));
  TRAIND_TRY(PublishFile(PosixIo(), real + "/traind.pid", fmt::format("{}\n", getpid())));
  return StateDirectory(real, std::move(lock));
}

StateDirectory::~StateDirectory() {
  if (!lock_.valid()) return;
  unlink((path_ + "/traind.pid").c_str());
  (void)ftruncate(lock_.get(), 0);  // it says nothing of a process that has gone
}

Result<Descriptor> StateDirectory::Listen() const {
  const std::string path = socket_path();
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode) || info.st_uid != geteuid()) {
      return Unusable(fmt::format("{} is in the way: it is no socket of yours", path),
                      "look what it is, and remove it");
    }
    if (unlink(path.c_str()) != 0) return SystemFailure("cannot remove the old socket", path);
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const mode_t before = umask(0177);
  const int bound = bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  if (bound != 0) return SystemFailure("cannot bind", path);
  if (listen(socket.get(), kListenQueue) != 0) return SystemFailure("cannot listen on", path);
  return socket;
}

void StateDirectory::Describe(std::string_view what) const {
  (void)WriteHolder(lock_.get(), what);  // only words
}

void StateDirectory::StopListening() const {
  unlink(socket_path().c_str());
}

}  // namespace traind::daemon
