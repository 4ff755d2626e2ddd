// A request of a session between its arrival and its last reply.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "daemon/dispatch.h"
#include "daemon/session.h"

namespace traind::daemon {

struct Session::Request {
  enum class Phase { kParsing, kQueued, kRunning, kSending, kWaiting, kFollowing, kWorker, kConcluding };

  int64_t id = 0;
  Phase phase = Phase::kQueued;
  StatementRequest statement;
  // Set when the client is gone or has interrupted it; read on the pool thread before the work begins.
  std::atomic<bool> cancelled = false;
  Pool::Ticket ticket = 0;
  std::optional<Result<Dispatched>> result;  // once it has run
  std::string kind;
  std::vector<std::string> notices;  // for "done", when no columns were sent
  std::deque<std::string> frames;    // still to be sent
  int64_t rows = 0;
  std::unique_ptr<Wait> wait;
  std::unique_ptr<Follow> follow;
  int64_t worker_run = 0;
  WorkerOutcome worker;  // without its task
};

}  // namespace traind::daemon
