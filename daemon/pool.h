// Threads for everything that may block: SQL, planning, files. Each has a catalog reader of its own.
//
// Work is started in the order of submission. When all threads are held up (a SELECT that runs for ever on
// each of them), more are started, up to a limit, so that one client's work cannot stop the others'.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "daemon/loop.h"
#include "engine/base/status.h"

namespace traind::daemon {

class Pool {
 public:
  using Ticket = uint64_t;

  // Starts `threads` threads, and up to `max_threads` under pressure.
  static Result<std::unique_ptr<Pool>> Start(Loop* loop, Catalog* catalog, int threads, int max_threads);
  // Finishes what is running and drops what is queued. Afterwards nothing of this pool is posted any more.
  ~Pool();

  // On the loop. Runs `work` on a thread, then `done` on the loop.
  Ticket Submit(std::function<void(Reader&)> work, std::function<void()> done);

  // On the loop. If the ticket's work is running, makes its query and all its later ones end with
  // INTERRUPTED. Work that has not begun is not touched: it has to look for itself.
  void Interrupt(Ticket ticket);

  int threads() const;

 private:
  struct Item {
    Ticket ticket = 0;
    std::function<void(Reader&)> work;
    std::function<void()> done;
    double queued_at = 0;
  };
  struct Thread {
    std::thread thread;
    std::unique_ptr<Reader> reader;
    Ticket running = 0;  // 0: idle
  };

  Pool(Loop* loop, Catalog* catalog, int max_threads);
  Status AddThread();
  void RunThread(Thread* self);
  void Tend();

  Loop* const loop_;
  Catalog* const catalog_;
  const int max_threads_;
  Ticket last_ticket_ = 0;
  std::unique_ptr<Timer> tend_;  // runs while something is queued

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::deque<Item> queue_;
  std::vector<std::unique_ptr<Thread>> threads_;
  bool stopping_ = false;
};

}  // namespace traind::daemon
