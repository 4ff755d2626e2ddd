// Reaping: every known child is asked for by its number, so that nobody else's child is taken.
#include "daemon/supervisor/children.h"

#include <signal.h>
#include <sys/wait.h>

#include <utility>
#include <vector>

namespace traind::daemon {

Children::Children(Loop* loop) : loop_(loop), signal_(loop, SIGCHLD, [this] { Reap(); }) {}

void Children::Add(pid_t pid, std::function<void(int)> ended) {
  children_[pid] = std::move(ended);
  loop_->Post([this] { Reap(); });
}

void Children::Forget(pid_t pid) {
  const auto found = children_.find(pid);
  if (found != children_.end()) found->second = nullptr;
}

void Children::Reap() {
  std::vector<std::pair<std::function<void(int)>, int>> ended;
  for (auto child = children_.begin(); child != children_.end();) {
    int wait_status = 0;
    const pid_t got = waitpid(child->first, &wait_status, WNOHANG);
    if (got == 0) {
      ++child;
      continue;
    }
    ended.emplace_back(std::move(child->second), wait_status);
    child = children_.erase(child);
  }
  for (const auto& [action, wait_status] : ended) {
    if (action) action(wait_status);
  }
}

}  // namespace traind::daemon
