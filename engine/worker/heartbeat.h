// Heartbeat: once a second, from a thread of its own, what the worker is at and how far it has come.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "engine/worker/control.h"

namespace traind::worker {

// Doing, Advance and Watch are called by the working thread.
class Heartbeat {
 public:
  // `control` is borrowed and outlives it.
  explicit Heartbeat(Control* control);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void Doing(std::string_view instruction, int64_t step, double deadline_seconds);
  void Advance() { pieces_.fetch_add(1, std::memory_order_relaxed); }
  // Adds a counter (borrowed) to the progress until another, or nullptr, takes its place.
  void Watch(const std::atomic<int64_t>* counter);

 private:
  void Loop();
  void Beat();

  Control* const control_;
  std::atomic<int64_t> pieces_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  const std::atomic<int64_t>* counter_ = nullptr;
  int64_t counted_before_ = 0;  // by counters that were watched earlier
  std::string instruction_ = "start";
  int64_t step_ = 0;
  double deadline_seconds_ = 0;
  std::thread thread_;
};

}  // namespace traind::worker
