// The state directory: whether it may be used, the lock that makes this daemon its only one, its socket.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/descriptor.h"
#include "engine/base/status.h"

namespace traind::daemon {

// Holds the lock until destruction.
class StateDirectory {
 public:
  // Makes the directory (0700) if it is missing, checks owner, mode, file system, parent and the length of
  // the socket's path, takes the lock and writes traind.pid. STATE_UNUSABLE says what to change; STATE_IN_USE
  // names the process that has it.
  static Result<StateDirectory> Open(const std::string& path);
  ~StateDirectory();  // removes traind.pid, then lets go of the lock
  StateDirectory(StateDirectory&&) = default;
  StateDirectory& operator=(StateDirectory&&) = delete;

  const std::string& path() const { return path_; }
  std::string socket_path() const { return path_ + "/traind.sock"; }

  // Listens on the socket (0600), replacing one that a dead daemon left; the lock says that it is dead.
  // STATE_UNUSABLE if a symbolic link or a file that is no socket of ours has the name.
  Result<Descriptor> Listen() const;
  // What those who find the directory in use are told of this process, after its number: ", which is
  // leaving".
  void Describe(std::string_view what) const;
  // Removes the socket, so that the next client starts the next daemon.
  void StopListening() const;

 private:
  StateDirectory(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  Descriptor lock_;
};

}  // namespace traind::daemon
