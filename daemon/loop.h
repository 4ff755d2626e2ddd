// The daemon's one event loop (libuv), its timers, and the way back to it from other threads.
//
// Everything that sessions, streams and the supervisor hold is touched on this thread only. Nothing here may
// block: no file access, no SQL, no planning; those run on a Pool and come back with Post.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/lag_meter.h"

namespace traind::daemon {

class Loop {
 public:
  Loop();
  ~Loop();  // after Run has returned and every Timer, Watch and Channel is gone
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // From any thread: runs `task` on the loop, in the order of posting. Tasks posted after Run has returned
  // are dropped.
  void Post(std::function<void()> task);

  // Runs until Stop.
  void Run();
  void Stop();

  const LagMeter& lag() const { return lag_; }
  uv_loop_t* handle() { return &loop_; }

 private:
  void RunPosted();
  void MeterTurn();

  uv_loop_t loop_{};
  uv_async_t wake_{};
  uv_prepare_t turn_{};
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // guarded by mutex_
  LagMeter lag_;
  uint64_t turn_began_ns_ = 0;
  uint64_t idle_before_ns_ = 0;
  int64_t processor_before_ns_ = 0;
};

// A timer of the loop; destruction stops it. The action may destroy its own timer.
class Timer {
 public:
  Timer(Loop* loop, std::function<void()> action);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void Once(int64_t after_ms);
  void Every(int64_t interval_ms);
  void Stop();
  bool active() const;

 private:
  struct State;
  State* state_;  // freed by libuv's close callback
};

// Calls an action whenever a descriptor is readable; the descriptor is borrowed.
class Watch {
 public:
  Watch(Loop* loop, int descriptor, std::function<void()> action);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void Start();
  void Stop();

 private:
  struct State;
  State* state_;
};

// Calls an action, on the loop, whenever the process gets a signal.
class SignalWatch {
 public:
  SignalWatch(Loop* loop, int signal_number, std::function<void()> action);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  struct State;
  State* state_;
};

}  // namespace traind::daemon
