// A statement that waits for jobs: WAIT FOR JOB, TRAIN … WAIT. On the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/loop.h"
#include "daemon/pool.h"
#include "daemon/stream/hub.h"
#include "daemon/stream/job_status.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

class Wait {
 public:
  struct Options {
    std::vector<int64_t> jobs;
    std::optional<double> timeout_seconds;
    bool progress = false;
    bool stop_on_paused = false;  // end with JOB_STOPPED when only stopped jobs are left
  };
  // `on_progress` gets the protocol's "progress" object, at most ten times a second and job, when something
  // has changed. `on_end` is called once; it may destroy the wait. OK if every job SUCCEEDED, else the worst:
  // JOB_FAILED, JOB_CANCELLED, BUDGET_EXCEEDED, WAIT_TIMED_OUT, JOB_STOPPED.
  Wait(Loop* loop, Pool* pool, Hub* hub, Options options, std::function<void(Json)> on_progress,
       std::function<void(Status)> on_end);
  ~Wait();

 private:
  struct Job {
    std::optional<JobStatus> status;
    Json told;  // the last progress object
    int64_t listener = 0;
  };
  struct ReadResult;

  void Tick();
  void Read();
  void Took(const ReadResult& result);
  void Tell();
  bool EndIfDone();
  void End(Status status);

  Loop* const loop_;
  Pool* const pool_;
  Hub* const hub_;
  const Options options_;
  const std::function<void(Json)> on_progress_;
  std::function<void(Status)> on_end_;
  std::map<int64_t, Job> jobs_;
  std::shared_ptr<Wait*> self_;  // what pool work holds; null once this is gone
  Timer tick_;
  double began_ = 0;
  double read_at_ = 0;
  bool reading_ = false;
  bool changed_ = true;  // since the last read began
};

}  // namespace traind::daemon
