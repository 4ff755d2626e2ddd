// Sends heartbeats.
#include "engine/worker/heartbeat.h"

#include <chrono>

#include "engine/device/cpu/machine.h"

namespace traind::worker {
namespace {

constexpr std::chrono::seconds kInterval(1);
constexpr double kStartDeadlineSeconds = 120;

}  // namespace

Heartbeat::Heartbeat(Control* control) : control_(control), deadline_seconds_(kStartDeadlineSeconds) {
  thread_ = std::thread([this] { Loop(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Heartbeat::Doing(std::string_view instruction, int64_t step, double deadline_seconds) {
  const std::lock_guard lock(mutex_);
  instruction_ = instruction;
  step_ = step;
  deadline_seconds_ = deadline_seconds;
}

void Heartbeat::Watch(const std::atomic<int64_t>* counter) {
  const std::lock_guard lock(mutex_);
  if (counter_ != nullptr) counted_before_ += counter_->load(std::memory_order_relaxed);
  counter_ = counter;
}

void Heartbeat::Loop() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    Beat();
    ended_.wait_for(lock, kInterval, [this] { return ending_; });
  }
}

// With the mutex held.
void Heartbeat::Beat() {
  const int64_t counted = counter_ == nullptr ? 0 : counter_->load(std::memory_order_relaxed);
  control_->SendIfRoom({{"type", "heartbeat"},
                        {"progress", counted_before_ + counted + pieces_.load(std::memory_order_relaxed)},
                        {"instruction", instruction_},
                        {"deadline_s", deadline_seconds_},
                        {"step", step_},
                        {"rss_bytes", Machine().ResidentBytes()}});
}

}  // namespace traind::worker
