// An attempt's time, budget and end. What the worker says is taken in attempt_messages.cc.
#include "daemon/supervisor/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

constexpr int64_t kTickMs = 100;
constexpr double kMeterEverySeconds = 2;
constexpr double kFirstDeadlineSeconds = 30;
// A cancelled worker has nothing to lose; one that saves may take a while; one that is done has only to
// leave.
constexpr double kCancelGraceSeconds = 5;
constexpr double kShutdownGraceSeconds = 60;
constexpr double kFinishedGraceSeconds = 10;
constexpr int64_t kConcludeAgainMs = 2000;
constexpr int kMaxIoTries = 15;  // a full disk is waited for without limit, other failures are not
constexpr int64_t kPaceSteps = 20;
constexpr double kPaceSeconds = 5;

double Now() {
  return SystemClock().MonotonicSeconds();
}

}  // namespace

void RemoveCacheTemporaries(const SupervisorTools* tools, pid_t worker) {
  tools->pool->Submit(
      [daemon = tools->daemon, worker](Reader&) {
        const Status removed = RemoveTemporariesOf(*daemon->io, daemon->state_directory + "/cache", worker);
        if (!removed.ok() && removed.code() != ErrorCode::FILE_NOT_FOUND) {
          Log(LogLevel::kWarning, "{}", removed.ToString());
        }
      },
      nullptr);
}

Attempt::Attempt(const SupervisorTools* tools, Launch launch, std::function<void(const Verdict&)> concluded)
    : tools_(tools),
      job_(std::move(launch.job)),
      number_(launch.attempt),
      device_(launch.device),
      price_per_hour_(launch.plan.device.price_per_hour),
      reserved_bytes_(launch.plan.predicted_peak_bytes),
      resumed_from_(launch.task.resume_checkpoint),
      concluded_(std::move(concluded)),
      self_(std::make_shared<Attempt*>(this)),
      log_(tools->pool, WorkerLogPath(job_)),
      meter_(job_.budget, {job_.used_seconds, job_.gpu_seconds, 1, job_.submitted_at},
             tools->daemon->clock->WallSeconds()),
      tick_(tools->loop, [this] { Tick(); }),
      conclude_again_(tools->loop, [this] { Conclude(); }),
      began_(Now()),
      start_step_(launch.start_step) {
  progress_.step = launch.start_step;
  progress_.total_steps = job_.total_steps;
  tools_->hub->SetProgress(job_.id, progress_);
  ending_.attempt = number_;
  ending_.start_step = start_step_;
  ending_.resumed_from = resumed_from_;
  ending_.price_per_hour = price_per_hour_;
  if (!launch.failure.ok()) {
    WorkerEnding ending;
    ending.cause = launch.failure;
    tools_->loop->Post([self = self_, ending] {
      if (*self != nullptr) (*self)->WorkerEnded(ending);
    });
    return;
  }
  Log(LogLevel::kInfo, "{}: attempt {} is process {} on {}", job_.Display(), number_, launch.worker.pid,
      DeviceName(device_));
  WorkerProcess::Handlers handlers;
  handlers.message = [this](const Json& message) { Received(message); };
  handlers.ended = [this](const WorkerEnding& ending) { WorkerEnded(ending); };
  worker_ =
      std::make_unique<WorkerProcess>(tools_->loop, tools_->children, std::move(launch.worker),
                                      kFirstDeadlineSeconds * tools_->deadline_scale, std::move(handlers));
  worker_->Send(TrainTaskToJson(launch.task));
  tick_.Every(kTickMs);
  Refresh();
}

Attempt::~Attempt() {
  *self_ = nullptr;
  tools_->hub->ClearProgress(job_.id);
}

double Attempt::Elapsed() const {
  return Now() - began_;
}

void Attempt::Write(std::function<Status(Transaction&)> work, std::function<void(const Status&)> done) {
  ++writes_under_way_;
  tools_->daemon->catalog->Submit(
      std::move(work), [loop = tools_->loop, self = self_, done = std::move(done)](Status status) {
        loop->Post([self, done, status = std::move(status)] {
          if (*self == nullptr) return;
          Attempt* attempt = *self;
          --attempt->writes_under_way_;
          if (!status.ok()) Log(LogLevel::kError, "{}: {}", attempt->job_.Display(), status.ToString());
          if (done) done(status);
          if (attempt->worker_ended_ && attempt->writes_under_way_ == 0) attempt->Conclude();
        });
      });
}

void Attempt::Event(std::string kind, std::string detail) {
  Log(LogLevel::kInfo, "{}: {}: {}", job_.Display(), kind, detail);
  Write([job = job_.id, kind = std::move(kind), detail = std::move(detail),
         now = tools_->daemon->clock->WallSeconds()](
            Transaction& transaction) { return AddEvent(transaction, job, kind, detail, now); },
        [this](const Status&) { Changed(); });
}

void Attempt::Changed() {
  tools_->hub->JobChanged(job_.id);
}

void Attempt::Refresh() {
  refresh_again_ = refreshing_;
  if (refreshing_ || worker_ended_) return;
  refreshing_ = true;
  auto record = std::make_shared<std::optional<Result<JobRecord>>>();
  tools_->pool->Submit([record, job = job_.id](Reader& reader) { *record = LoadJob(reader, job); },
                       [self = self_, record] {
                         if (*self == nullptr) return;
                         Attempt* attempt = *self;
                         attempt->refreshing_ = false;
                         if ((*record)->ok()) attempt->TakeRecord(***record);
                         if (attempt->refresh_again_) attempt->Refresh();
                       });
}

void Attempt::TakeRecord(const JobRecord& record) {
  if (!(record.budget == job_.budget)) {
    job_.budget = record.budget;
    meter_.SetBudget(job_.budget, Elapsed(), tools_->daemon->clock->WallSeconds());
    limit_applied_ = false;
  }
  switch (record.request) {
    case JobRequest::kPause:
      Stop(StopReason::kPause, "");
      break;
    case JobRequest::kCancel:
      Stop(StopReason::kCancel, "");
      break;
    case JobRequest::kCheckpoint:
      if (!checkpoint_asked_ && worker_) worker_->Send(Json{{"type", "checkpoint"}});
      checkpoint_asked_ = true;
      break;
    case JobRequest::kNone:
      break;
  }
}

void Attempt::Stop(StopReason reason, std::string detail) {
  if (stop_ == reason || stop_ == StopReason::kCancel) return;
  if (stop_ != StopReason::kNone && reason != StopReason::kCancel) return;
  stop_ = reason;
  stop_detail_ = std::move(detail);
  stop_at_ = Now();
  ending_.limit_action = job_.budget.action;
  std::string_view told = StopReasonName(reason);
  if (reason == StopReason::kBudget && job_.budget.action == LimitAction::kPause) told = "pause";
  if (reason == StopReason::kBudget && job_.budget.action == LimitAction::kFail) told = "cancel";
  if (worker_) worker_->Send(Json{{"type", "stop"}, {"reason", told}});
}

void Attempt::Abandon() {
  if (worker_) worker_->Abandon();
}

void Attempt::Tick() {
  if (worker_ended_) return;
  const double elapsed = Elapsed();
  log_.Tend();
  if (elapsed - metered_ >= kMeterEverySeconds) {
    MeterUsage();
    WarnOfPace();
  }
  MeterBudget();
  EnforceStop();
}

void Attempt::MeterUsage() {
  if (metering_) return;
  metering_ = true;
  const double seconds = Elapsed() - metered_;
  metered_ += seconds;
  Write([job = job_.id, seconds, price = price_per_hour_](
            Transaction& transaction) { return AddUsage(transaction, job, seconds, 1, price); },
        [this, seconds](const Status& status) {
          metering_ = false;
          if (!status.ok()) metered_ -= seconds;
        });
}

void Attempt::MeterBudget() {
  const double elapsed = Elapsed();
  const double now = tools_->daemon->clock->WallSeconds();
  for (const BudgetMeter::Mark& mark : meter_.Advance(elapsed, now)) Event("budget", mark.text);
  if (limit_applied_ || finished_at_ > 0) return;
  if (const auto mark = meter_.Exhausted(elapsed, now)) ApplyLimit(*mark);
}

void Attempt::ApplyLimit(const BudgetMeter::Mark& mark) {
  limit_applied_ = true;
  if (job_.budget.action == LimitAction::kWarn) {
    Event("warning", mark.text + ": ELSE WARN lets it go on");
    return;
  }
  Stop(StopReason::kBudget, mark.text);
}

void Attempt::WarnOfPace() {
  if (running_since_ == 0 || stop_ != StopReason::kNone || job_.training.target == Target{}) return;
  const int64_t done = progress_.step - start_step_;
  const double running = Now() - running_since_;
  if (done < kPaceSteps || running < kPaceSeconds || progress_.total_steps <= 0) return;
  const auto warning =
      meter_.PaceWarning(Elapsed(), tools_->daemon->clock->WallSeconds(),
                         progress_.total_steps - progress_.step, running / static_cast<double>(done));
  if (warning) Event("budget", *warning);
}

void Attempt::EnforceStop() {
  const double now = Now();
  const bool cancelled = stop_ == StopReason::kCancel && now - stop_at_ > kCancelGraceSeconds;
  const bool shut_down = stop_ == StopReason::kShutdown && now - stop_at_ > kShutdownGraceSeconds;
  const bool lingers = finished_at_ > 0 && now - finished_at_ > kFinishedGraceSeconds;
  if (cancelled || shut_down || lingers) worker_->Kill();
}

void Attempt::WorkerEnded(const WorkerEnding& ending) {
  worker_ended_ = true;
  tick_.Stop();
  log_.Flush();
  if (ending_.outcome.empty() && ending_.failure.ok()) ending_.failure = ending.cause;
  if (ending_.outcome.empty()) {
    if (worker_) RemoveCacheTemporaries(tools_, worker_->pid());
    Log(LogLevel::kWarning, "{}: attempt {} ended: {}", job_.Display(), number_, ending_.failure.ToString());
  }
  ending_.stop = stop_;
  ending_.stop_detail = stop_detail_;
  ending_.step_ms = progress_.step_seconds ? std::optional(*progress_.step_seconds * 1e3) : std::nullopt;
  ending_.unmetered_seconds = std::max(Elapsed() - metered_, 0.0);
  if (writes_under_way_ == 0) Conclude();
}

void Attempt::Conclude() {
  auto verdict = std::make_shared<std::optional<Result<Verdict>>>();
  tools_->pool->Submit(
      [verdict, daemon = tools_->daemon, job = job_.id, ending = ending_](Reader& reader) {
        *verdict = daemon::Conclude(reader, *daemon->catalog, *daemon->io, daemon->state_directory, job,
                                    ending, daemon->clock->WallSeconds());
      },
      [self = self_, verdict] {
        if (*self != nullptr) (*self)->Concluded(**verdict);
      });
}

void Attempt::Concluded(const Result<Verdict>& verdict) {
  if (verdict.ok()) {
    Log(LogLevel::kInfo, "{}: {}", job_.Display(), JobStateName(verdict->state));
    std::exchange(concluded_, nullptr)(*verdict);
    return;
  }
  const Status status = verdict.status();
  Log(LogLevel::kError, "{}: its end cannot be committed: {}", job_.Display(), status.ToString());
  const bool wait = status.code() == ErrorCode::DISK_FULL ||
                    (status.code() == ErrorCode::IO && ++conclude_tries_ < kMaxIoTries);
  if (!wait) {
    // What it ended with is not possible any more (its model was dropped): then it failed.
    ending_.outcome.clear();
    ending_.stop = StopReason::kNone;
    ending_.failure = Status(status.code() == ErrorCode::IO ? ErrorCode::INTERNAL : status.code(),
                             status.message(), status.hint());
  }
  conclude_again_.Once(kConcludeAgainMs);
}

}  // namespace traind::daemon
