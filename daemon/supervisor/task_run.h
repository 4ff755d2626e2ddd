// One statement that a worker carries out (GENERATE, EVALUATE, IMPORT, EXPORT): a worker that is given a task
// and answers with a result. On the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/supervisor/attempt.h"
#include "daemon/supervisor/worker_process.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

class TaskRun {
 public:
  // `progress`, which may be empty, is called with each message of type "preparing" or "text".
  TaskRun(const SupervisorTools* tools, Json task, std::function<void(const Json&)> progress,
          std::function<void(const Result<Json>&)> done);
  // Kills the worker; one that fills a directory is let go instead: it stops at once, and removes what it has
  // written.
  ~TaskRun();

  void Start(const std::string& worker_program);
  bool started() const { return started_; }
  // What its plan says that it will take.
  int64_t predicted_bytes() const { return predicted_bytes_; }

  // Ends it with this error instead of a result.
  void Fail(const Status& status);

 private:
  void Spawned(Result<SpawnedWorker> worker);
  void Received(const Json& message);
  void Ended(const WorkerEnding& ending);
  void Finish(const Result<Json>& result);

  const SupervisorTools* const tools_;
  const Json task_;
  int64_t predicted_bytes_ = 0;
  std::function<void(const Json&)> progress_;
  std::function<void(const Result<Json>&)> done_;
  std::shared_ptr<TaskRun*> self_;  // what pool work holds; null once this is gone
  std::unique_ptr<WorkerProcess> worker_;
  std::optional<Result<Json>> result_;
  bool started_ = false;
};

}  // namespace traind::daemon
