// The daemon's child processes: who is told when one has ended. On the loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>

#include "daemon/loop.h"

namespace traind::daemon {

class Children {
 public:
  explicit Children(Loop* loop);

  // `ended` is called once, from the loop, with waitpid's status when the child has ended and is reaped; a
  // child that has ended before is found too.
  void Add(pid_t pid, std::function<void(int wait_status)> ended);
  // The child is still reaped, but nobody is told.
  void Forget(pid_t pid);

 private:
  void Reap();

  Loop* const loop_;
  SignalWatch signal_;
  std::map<pid_t, std::function<void(int)>> children_;
};

}  // namespace traind::daemon
