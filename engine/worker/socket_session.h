// The session of a run over the control socket.
#pragma once

#include <chrono>

#include "engine/train/session.h"
#include "engine/worker/control.h"
#include "engine/worker/heartbeat.h"

namespace traind::worker {

// Used by the run's thread; both are borrowed.
class SocketSession : public train::Session {
 public:
  SocketSession(Control* control, Heartbeat* heartbeat) : control_(control), heartbeat_(heartbeat) {}

  train::Requests Poll() override { return control_->requests(); }
  void CheckpointAnswered() override { control_->CheckpointAnswered(); }

  void Preparing(int64_t done_bytes, int64_t total_bytes) override;
  void Prepared(const train::DataCounts& data, const std::optional<train::DataCounts>& validation,
                int64_t total_steps) override;
  void Running(std::string_view plan_hash, int64_t arena_bytes, int64_t start_step) override;
  void Metrics(const MetricRow& row) override { control_->SendMetrics(row); }
  void CheckpointWritten(const train::CheckpointReport& report) override;
  void CheckpointFailed(int64_t step, const Status& status) override;
  void TotalSteps(int64_t total_steps) override;
  void Message(LogLevel level, std::string_view text) override;
  void Text(std::string_view text) override;

  void Doing(std::string_view instruction, int64_t step, double deadline_seconds) override {
    heartbeat_->Doing(instruction, step, deadline_seconds);
  }
  void Advance() override { heartbeat_->Advance(); }
  void Watch(const std::atomic<int64_t>* counter) override { heartbeat_->Watch(counter); }

 private:
  Control* const control_;
  Heartbeat* const heartbeat_;
  std::chrono::steady_clock::time_point last_preparing_;  // the epoch, so that the first report goes out
  std::chrono::steady_clock::time_point last_text_;
};

}  // namespace traind::worker
