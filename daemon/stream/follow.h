// A SHOW … FOLLOW: new rows as they come, until the job is terminal. On the loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "daemon/loop.h"
#include "daemon/pool.h"
#include "daemon/statement.h"
#include "daemon/stream/hub.h"
#include "engine/base/status.h"

namespace traind::daemon {

class Follow {
 public:
  // `on_rows` gets encoded frames of request `id` and their number of rows; it returns whether more may come
  // at once. After false, Continue() asks for the next. `on_end` is called once and may destroy this.
  Follow(Loop* loop, Pool* pool, Hub* hub, int64_t id, FollowOutcome outcome,
         std::function<bool(std::deque<std::string> frames, int64_t rows)> on_rows,
         std::function<void(Status)> on_end);
  ~Follow();

  void Continue();

 private:
  struct Batch;

  void Read();
  void Took(Batch* batch);

  Loop* const loop_;
  Pool* const pool_;
  Hub* const hub_;
  const int64_t id_;
  const std::function<bool(std::deque<std::string>, int64_t)> on_rows_;
  std::function<void(Status)> on_end_;
  FollowOutcome outcome_;
  std::shared_ptr<Follow*> self_;  // what pool work holds; null once this is gone
  Timer tick_;
  int64_t listener_ = 0;
  bool reading_ = false;
  bool blocked_ = false;  // until Continue
};

}  // namespace traind::daemon
