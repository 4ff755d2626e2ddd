// The life of a worker statement's process.
#include "daemon/supervisor/task_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <utility>

#include "daemon/supervisor/launch.h"
#include "daemon/supervisor/worker_log.h"
#include "engine/base/limits.h"
#include "engine/base/log.h"

namespace traind::daemon {
namespace {

constexpr double kFirstDeadlineSeconds = 30;

int64_t PredictedBytes(const Json& task) {
  const auto plan = task.find("plan");
  if (plan == task.end() || !plan->is_object()) return 0;
  const auto bytes = GetIntOr(*plan, "predicted_peak_bytes", 0);
  return bytes.ok() ? *bytes : 0;
}

// Whether the task writes files that its worker removes when it is told to stop.
bool FillsADirectory(const Json& task) {
  const auto type = GetStringOr(task, "type", "");
  return type.ok() && (*type == "import" || *type == "export");
}

}  // namespace

TaskRun::TaskRun(const SupervisorTools* tools, Json task, std::function<void(const Json&)> progress,
                 std::function<void(const Result<Json>&)> done)
    : tools_(tools),
      task_(std::move(task)),
      predicted_bytes_(PredictedBytes(task_)),
      progress_(std::move(progress)),
      done_(std::move(done)),
      self_(std::make_shared<TaskRun*>(this)) {}

TaskRun::~TaskRun() {
  *self_ = nullptr;
  if (worker_ && FillsADirectory(task_)) worker_->Abandon();
}

void TaskRun::Start(const std::string& worker_program) {
  started_ = true;
  auto spawned = std::make_shared<std::optional<Result<SpawnedWorker>>>();
  const std::string log = tools_->daemon->state_directory + "/worker.log";
  tools_->pool->Submit(
      [spawned, worker_program, log](Reader&) {
        CutLog(log, kMaxWorkerLogBytes);
        const Descriptor lock(open("/dev/null", O_RDWR | O_CLOEXEC));  // it holds no job's lock
        Result<Descriptor> output = OpenWorkerLog(log);
        if (output.ok()) {
          *spawned = SpawnWorker(worker_program, {}, lock, *output);
        } else {
          *spawned = output.status();
        }
      },
      [self = self_, spawned] {
        if (*self != nullptr) (*self)->Spawned(std::move(**spawned));
        // Otherwise the control socket closes here, and the worker leaves by itself.
      });
}

void TaskRun::Spawned(Result<SpawnedWorker> worker) {
  if (!worker.ok()) {
    Finish(worker.status());
    return;
  }
  WorkerProcess::Handlers handlers;
  handlers.message = [this](const Json& message) { Received(message); };
  handlers.ended = [this](const WorkerEnding& ending) { Ended(ending); };
  worker_ =
      std::make_unique<WorkerProcess>(tools_->loop, tools_->children, *std::move(worker),
                                      kFirstDeadlineSeconds * tools_->deadline_scale, std::move(handlers));
  worker_->Send(task_);
}

void TaskRun::Received(const Json& message) {
  const auto type = message["type"].get<std::string>();
  if (type == "result") {
    result_ = message;
  } else if (type == "failed") {
    const auto error = message.find("error");
    const Status failure = error == message.end() ? Ok() : StatusFromJson(*error);
    result_ = failure.ok() ? Status(ErrorCode::INTERNAL, "the worker failed without an error") : failure;
  } else if (type == "preparing" || type == "text") {
    if (progress_) progress_(message);
  } else if (type == "log") {
    Log(LogLevel::kInfo, "statement's worker: {}",
        GetStringOr(message, "text", "").ok() ? *GetStringOr(message, "text", "") : std::string());
  }
}

void TaskRun::Ended(const WorkerEnding& ending) {
  if (!result_) RemoveCacheTemporaries(tools_, worker_->pid());
  if (result_) {
    Finish(*result_);
  } else if (!ending.cause.ok()) {
    Finish(ending.cause);
  } else {
    Finish(Status(ErrorCode::WORKER_DIED, "the worker left without a result"));
  }
}

void TaskRun::Fail(const Status& status) {
  Finish(status);
}

void TaskRun::Finish(const Result<Json>& result) {
  // Posted: the callback may drop this run, whose worker may be calling.
  if (!done_) return;
  tools_->loop->Post([done = std::exchange(done_, nullptr), result] { done(result); });
}

}  // namespace traind::daemon
