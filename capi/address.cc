// Addresses are resolved from environment and file system alone.
#include "capi/address.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <vector>

#include "engine/base/limits.h"

namespace traind::capi {
namespace {

constexpr std::string_view kProgram = "traind";

std::string Absolute(std::string_view directory, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  return fmt::format("{}/{}", directory == "/" ? "" : directory, path);
}

std::string DirectoryOf(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

bool IsProgram(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string LibraryPath() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&DirectoryOf), &info) == 0 || info.dli_fname == nullptr) return {};
  std::array<char, PATH_MAX> real{};
  return realpath(info.dli_fname, real.data()) == nullptr ? std::string() : std::string(real.data());
}

std::string ExecutablePath() {
  std::array<char, PATH_MAX> path{};
  ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length <= 0 ? std::string() : std::string(path.data(), static_cast<size_t>(length));
}

void AddPathVariable(std::vector<std::string>* candidates) {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/local/bin:/usr/bin" : variable;
  while (!rest.empty()) {
    size_t colon = rest.find(':');
    std::string_view directory = rest.substr(0, colon);
    if (directory.starts_with('/')) candidates->push_back(fmt::format("{}/{}", directory, kProgram));
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
}

std::vector<std::string> Candidates() {
  std::vector<std::string> candidates;
  if (const char* variable = std::getenv("TRAIND_BIN"); variable != nullptr && *variable != '\0') {
    candidates.push_back(fmt::format("{}/{}", variable, kProgram));
    candidates.emplace_back(variable);
  }
  for (const std::string& path : {LibraryPath(), ExecutablePath()}) {
    if (path.empty()) continue;
    candidates.push_back(fmt::format("{}/{}", DirectoryOf(path), kProgram));
    candidates.push_back(fmt::format("{}/bin/{}", DirectoryOf(DirectoryOf(path)), kProgram));
  }
  AddPathVariable(&candidates);
  return candidates;
}

Result<Address> SocketAddress(std::string path, bool is_default) {
  if (path.size() > static_cast<size_t>(kMaxSocketPathBytes)) {
    return Status(
        ErrorCode::DAEMON_UNREACHABLE,
        fmt::format("the socket's path has {} bytes, at most {} are possible: {}", path.size(),
                    kMaxSocketPathBytes, path),
        is_default ? "set XDG_STATE_HOME to a shorter directory" : "use a shorter path, or a relative one");
  }
  return Address{Address::Mode::kUnix, std::move(path), is_default};
}

}  // namespace

Result<Address> ParseAddress(std::string_view text, std::string_view directory) {
  constexpr std::string_view kUnix = "unix:", kEmbed = "embed:";
  if (text.empty()) {
    TRAIND_ASSIGN(std::string state, DefaultStateDirectory());
    return SocketAddress(state + "/traind.sock", true);
  }
  if (text.starts_with(kUnix) && text.size() > kUnix.size()) {
    return SocketAddress(Absolute(directory, text.substr(kUnix.size())), false);
  }
  if (text.starts_with(kEmbed) && text.size() > kEmbed.size()) {
    return Address{Address::Mode::kEmbed, Absolute(directory, text.substr(kEmbed.size())), false};
  }
  return Status(ErrorCode::INVALID_OPTION, fmt::format("'{}' is no address of a daemon", text),
                "an address is \"unix:PATH\", \"embed:DIR\", or \"\" for your own daemon");
}

Result<std::string> DefaultStateDirectory() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return fmt::format("{}/traind", state);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') {
    const passwd* user = getpwuid(geteuid());
    home = user == nullptr ? nullptr : user->pw_dir;
  }
  if (home == nullptr || *home != '/') {
    return Status(ErrorCode::STATE_UNUSABLE, "there is no home directory to keep the state in",
                  "set HOME or XDG_STATE_HOME, or name a directory with --embed or a socket with --socket");
  }
  return fmt::format("{}/.local/state/traind", std::string_view(home) == "/" ? "" : home);
}

Result<std::string> FindDaemonProgram(std::string_view configured) {
  if (!configured.empty()) return std::string(configured);
  std::vector<std::string> candidates = Candidates();
  for (const std::string& path : candidates) {
    if (IsProgram(path)) return path;
  }
  return Status(ErrorCode::DAEMON_UNREACHABLE,
                fmt::format("the program traind is nowhere: looked at {}", fmt::join(candidates, ", ")),
                "install traind, or set TRAIND_BIN to its directory");
}

}  // namespace traind::capi
