// Queue, attempts, stops and worker statements.
#include "daemon/supervisor/supervisor.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "daemon/supervisor/fence.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

namespace traind::daemon {
namespace {

constexpr double kFenceGraceSeconds = 10;  // an old worker leaves by itself within this, or is killed
constexpr int64_t kStalledEveryMs = 2000;
constexpr int64_t kPassFailedAgainMs = 3000;
constexpr size_t kMaxTasksAtOnce = 4;
// The pauses before the first, second … retry of an attempt that had not saved anything new.
constexpr std::array kRestSeconds = {0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0};
// A stalled job goes on when a checkpoint and this much fit.
constexpr int64_t kStallMarginBytes = 16LL << 20;

double Now() {
  return SystemClock().MonotonicSeconds();
}

}  // namespace

Status RecoverJobs(Catalog& catalog, double now) {
  return catalog.Write([now](Transaction& transaction) -> Status {
    TRAIND_ASSIGN(const std::vector<OpenAttempt> open, OpenAttempts(transaction));
    for (const OpenAttempt& attempt : open) {
      TRAIND_TRY(EndAttempt(transaction, attempt.job, attempt.attempt, "DAEMON_ENDED", now));
    }
    TRAIND_ASSIGN(
        const auto rows,
        transaction.Query("SELECT id FROM _jobs WHERE state IN ('PREPARING', 'RUNNING') ORDER BY id"));
    for (const auto& row : rows) {
      TRAIND_TRY(Apply(transaction, std::get<int64_t>(row[0]), JobChange::kRequeue,
                       "the daemon ended; it goes on from its last checkpoint", now)
                     .status());
    }
    return Ok();
  });
}

Supervisor::Supervisor(Loop* loop, Pool* pool, Hub* hub, Children* children, const DaemonState* daemon,
                       std::string worker_program, double deadline_scale)
    : tools_{loop, pool, hub, children, daemon, deadline_scale},
      worker_program_(std::move(worker_program)),
      again_(loop, [this] { LookAtQueue(); }),
      stalled_(loop, [this] { TendStalled(); }),
      self_(std::make_shared<Supervisor*>(this)) {
  stalled_.Every(kStalledEveryMs);
}

Supervisor::~Supervisor() {
  *self_ = nullptr;
}

void Supervisor::OpenAdmission() {
  if (open_ || stopping_) return;
  open_ = true;
  LookAtQueue();
}

void Supervisor::JobChanged(int64_t job) {
  const auto found = attempts_.find(job);
  if (found != attempts_.end()) {
    found->second->Refresh();
  } else {
    LookAtQueue();
  }
}

void Supervisor::LookAtQueue() {
  pass_again_ = passing_;
  if (!open_ || stopping_ || passing_) return;
  passing_ = true;
  again_.Stop();
  QueueView view;
  view.worker_program = worker_program_;
  view.deadline_scale = tools_.deadline_scale;
  {
    const std::lock_guard lock(mutex_);
    view.busy = busy_;
  }
  std::erase_if(resting_, [now = Now()](const auto& entry) { return entry.second <= now; });
  for (const auto& [job, until] : resting_) view.resting.insert(job);
  auto pass = std::make_shared<std::optional<Result<QueuePass>>>();
  tools_.pool->Submit([pass, view = std::move(view),
                       daemon = tools_.daemon](Reader& reader) { *pass = RunQueue(reader, *daemon, view); },
                      [self = self_, pass] {
                        if (*self != nullptr) (*self)->Passed(std::move(**pass));
                      });
}

void Supervisor::Passed(Result<QueuePass> result) {
  passing_ = false;
  if (!result.ok()) {
    Log(LogLevel::kError, "the queue cannot be worked: {}", result.status().ToString());
    again_.Once(kPassFailedAgainMs);
  } else {
    QueuePass& pass = *result;
    Fence(pass.fenced);
    if (pass.launch) {
      const int64_t id = pass.launch->job.id;
      attempts_[id] = std::make_unique<Attempt>(
          &tools_, std::move(*pass.launch), [this, id](const Verdict& verdict) { Concluded(id, verdict); });
      pass_again_ = true;
      UpdateBusy();
      if (stopping_) attempts_[id]->Stop(StopReason::kShutdown, "");
    }
    if (!pass.changed.empty()) maybe_stalled_ = true;  // a job that could not be started for want of space
    for (const int64_t job : pass.changed) tools_.hub->JobChanged(job);
    std::optional<double> again = pass.again_seconds;
    for (const auto& [job, until] : resting_) again = std::min(again.value_or(until - Now()), until - Now());
    if (again) again_.Once(static_cast<int64_t>(std::clamp(*again * 1e3, 1.0, 3.6e6)) + 1);
  }
  if (stopping_) {
    FinishStop();
  } else if (pass_again_) {
    LookAtQueue();
  }
}

// An attempt whose predecessor still lives waits for it, but not for ever.
void Supervisor::Fence(std::optional<int64_t> job) {
  if (fenced_ != job) {
    fenced_ = job;
    fenced_since_ = Now();
  }
  if (!job || Now() - fenced_since_ < kFenceGraceSeconds) return;
  fenced_since_ = Now();
  tools_.pool->Submit(
      [daemon = tools_.daemon, job = *job](Reader& reader) {
        const auto record = LoadJob(reader, job);
        if (!record.ok()) return;
        const std::vector<pid_t> groups = FenceHolders(AttemptLockPath(*record));
        for (const pid_t group : groups) {
          kill(-group, SIGKILL);
          const std::string text =
              fmt::format("process {} of an earlier attempt did not leave and was killed", group);
          Log(LogLevel::kWarning, "{}: {}", record->Display(), text);
          (void)daemon->catalog->Write([&](Transaction& transaction) {
            return AddEvent(transaction, job, "worker", text, daemon->clock->WallSeconds());
          });
        }
      },
      nullptr);
}

void Supervisor::Concluded(int64_t job, const Verdict& verdict) {
  attempts_.erase(job);
  UpdateBusy();
  if (verdict.state == JobState::kStalled) maybe_stalled_ = true;
  if (verdict.retried && verdict.state == JobState::kQueued) Rest(job, verdict);
  tools_.hub->JobChanged(job);
  if (stopping_) {
    FinishStop();
  } else {
    LookAtQueue();
    StartTasks();
  }
}

void Supervisor::Rest(int64_t job, const Verdict& verdict) {
  const int64_t used = verdict.progressed ? 0 : verdict.max_retries - verdict.retries_left - 1;
  const auto pause = static_cast<size_t>(std::clamp<int64_t>(used, 0, std::ssize(kRestSeconds) - 1));
  resting_[job] = Now() + kRestSeconds[pause];
}

// Jobs that a full disk has stopped go on when their next checkpoint fits again.
void Supervisor::TendStalled() {
  if (tending_ || stopping_ || !maybe_stalled_) return;
  tending_ = true;
  maybe_stalled_ = false;
  struct Tended {
    std::vector<int64_t> changed;
    bool more = true;
  };
  auto tended = std::make_shared<Tended>();
  tools_.pool->Submit(
      [tended, daemon = tools_.daemon](Reader& reader) {
        const auto rows = reader.Query("SELECT id FROM main._jobs WHERE state = 'STALLED' ORDER BY id");
        tended->more = !rows.ok() || !rows->empty();
        if (!rows.ok()) return;
        for (const auto& row : *rows) {
          const auto job = LoadJob(reader, std::get<int64_t>(row[0]));
          const auto free = daemon->io->FreeBytes(daemon->state_directory);
          if (!job.ok() || !free.ok()) continue;
          const auto need = GetIntOr(job->plan, "checkpoint_bytes", 0);
          if (!need.ok() || *free < *need + *need / 8 + kStallMarginBytes) continue;
          const Status status = daemon->catalog->Write([&](Transaction& transaction) {
            return Apply(transaction, job->id, JobChange::kRequeue, "space has returned",
                         daemon->clock->WallSeconds())
                .status();
          });
          if (status.ok()) tended->changed.push_back(job->id);
        }
      },
      [self = self_, tended] {
        if (*self == nullptr) return;
        (*self)->tending_ = false;
        (*self)->maybe_stalled_ = (*self)->maybe_stalled_ || tended->more;
        for (const int64_t job : tended->changed) (*self)->tools_.hub->JobChanged(job);
        if (!tended->changed.empty()) (*self)->LookAtQueue();
      });
}

void Supervisor::UpdateBusy() {
  const std::lock_guard lock(mutex_);
  busy_.clear();
  reserved_bytes_ = 0;
  for (const auto& [job, attempt] : attempts_) {
    busy_[attempt->device()] = attempt->job().Display();
    reserved_bytes_ += attempt->reserved_bytes();
  }
}

bool Supervisor::DeviceBusy(const std::string& node, int64_t index) const {
  const std::lock_guard lock(mutex_);
  return busy_.contains({node, index});
}

int64_t Supervisor::ReservedBytes() const {
  const std::lock_guard lock(mutex_);
  return reserved_bytes_;
}

int64_t Supervisor::RunTask(Json task, std::function<void(const Json&)> progress,
                            std::function<void(const Result<Json>&)> done) {
  const int64_t run = ++last_task_;
  tasks_[run] = std::make_unique<TaskRun>(&tools_, std::move(task), std::move(progress),
                                          [this, run, done = std::move(done)](const Result<Json>& result) {
                                            if (tasks_.erase(run) == 0) return;  // cancelled
                                            done(result);
                                            if (stopping_) {
                                              FinishStop();
                                            } else {
                                              StartTasks();
                                            }
                                          });
  if (stopping_) {
    tasks_[run]->Fail(Status(ErrorCode::SHUTTING_DOWN, "the daemon is leaving"));
  } else {
    StartTasks();
  }
  return run;
}

void Supervisor::CancelTask(int64_t run) {
  if (tasks_.erase(run) != 0 && !stopping_) StartTasks();
}

// Oldest first, a few at once: what they take beside each other was not planned together.
void Supervisor::StartTasks() {
  size_t running = 0;
  for (auto& [run, task] : tasks_) {
    if (!task->started() && running < kMaxTasksAtOnce) task->Start(worker_program_);
    running += task->started() ? 1 : 0;
  }
}

void Supervisor::Stop(std::function<void(Json)> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  again_.Stop();
  stalled_.Stop();
  for (const auto& [job, attempt] : attempts_) attempt->Stop(StopReason::kShutdown, "");
  for (const auto& [run, task] : tasks_) {
    task->Fail(Status(ErrorCode::SHUTTING_DOWN, "the daemon is leaving; the statement was stopped"));
  }
  FinishStop();
}

void Supervisor::Abandon() {
  for (const auto& [job, attempt] : attempts_) attempt->Abandon();
}

// When nothing runs any more: says which jobs are to go on later.
void Supervisor::FinishStop() {
  if (!stopped_ || !idle()) return;
  auto list = std::make_shared<Json>(Json::array());
  tools_.pool->Submit(
      [list](Reader& reader) {
        const auto rows =
            reader.Query("SELECT id, step FROM main._jobs WHERE state = 'QUEUED' ORDER BY id LIMIT 1000");
        if (!rows.ok()) return;
        for (const auto& row : *rows) {
          list->push_back(Json{{"job", std::get<int64_t>(row[0])}, {"step", std::get<int64_t>(row[1])}});
        }
      },
      [self = self_, list] {
        if (*self == nullptr || !(*self)->stopped_) return;
        std::exchange((*self)->stopped_, nullptr)(std::move(*list));
      });
}

}  // namespace traind::daemon
