// Waiting: the rows of unfinished jobs are read when they have changed, and once a second in any case.
#include "daemon/stream/wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

constexpr int64_t kTickMs = 100;
constexpr double kRereadSeconds = 1.0;

// What ends a wait, the worst first.
constexpr std::array kSeverity = {ErrorCode::JOB_FAILED, ErrorCode::JOB_CANCELLED, ErrorCode::BUDGET_EXCEEDED,
                                  ErrorCode::WAIT_TIMED_OUT, ErrorCode::JOB_STOPPED};

const Status& Worse(const Status& a, const Status& b) {
  const auto rank = [](const Status& status) {
    return std::find(kSeverity.begin(), kSeverity.end(), status.code()) - kSeverity.begin();
  };
  return rank(b) < rank(a) ? b : a;
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json ProgressObject(const JobStatus& job, const JobProgress* live) {
  Json object{{"job", job.id},
              {"state", JobStateName(job.state)},
              {"step", job.step},
              {"total_steps", nullptr},
              {"loss", nullptr},
              {"val_loss", nullptr},
              {"tokens_per_second", nullptr},
              {"eta_seconds", nullptr},
              {"preparing", nullptr},
              {"text", nullptr}};
  int64_t total = job.total_steps;
  if (live != nullptr) {
    object["step"] = std::max(job.step, live->step);
    if (live->total_steps > 0) total = live->total_steps;
    object["loss"] = OrNull(live->loss);
    object["val_loss"] = OrNull(live->val_loss);
    object["tokens_per_second"] = OrNull(live->tokens_per_second);
    if (live->step_seconds && total > live->step) {
      object["eta_seconds"] = static_cast<double>(total - live->step) * *live->step_seconds;
    }
    if (live->preparing_done) {
      object["preparing"] = Json::array({*live->preparing_done, live->preparing_total.value_or(0)});
    }
  }
  if (total > 0) object["total_steps"] = total;
  if (!job.reason.empty()) object["text"] = job.reason;
  return object;
}

}  // namespace

struct Wait::ReadResult {
  std::vector<Result<JobStatus>> jobs;
};

Wait::Wait(Loop* loop, Pool* pool, Hub* hub, Options options, std::function<void(Json)> on_progress,
           std::function<void(Status)> on_end)
    : loop_(loop),
      pool_(pool),
      hub_(hub),
      options_(std::move(options)),
      on_progress_(std::move(on_progress)),
      on_end_(std::move(on_end)),
      self_(std::make_shared<Wait*>(this)),
      tick_(loop, [this] { Tick(); }),
      began_(SystemClock().MonotonicSeconds()) {
  for (const int64_t id : options_.jobs) {
    Job& job = jobs_[id];
    if (job.listener != 0) continue;
    job.listener = hub_->Listen(id, [this] {
      changed_ = true;
      Read();
    });
  }
  tick_.Every(kTickMs);
  Read();
}

Wait::~Wait() {
  *self_ = nullptr;
  for (const auto& [id, job] : jobs_) hub_->Unlisten(job.listener);
}

void Wait::Read() {
  if (reading_ || !on_end_) return;
  reading_ = true;
  changed_ = false;
  read_at_ = SystemClock().MonotonicSeconds();
  std::vector<int64_t> ids;
  for (const auto& [id, job] : jobs_) {
    if (!job.status || !InfoOf(job.status->state).terminal) ids.push_back(id);
  }
  auto result = std::make_shared<ReadResult>();
  pool_->Submit(
      [ids = std::move(ids), result](Reader& reader) {
        for (const int64_t id : ids) result->jobs.push_back(ReadJobStatus(reader, id));
      },
      [self = self_, result] {
        if (*self != nullptr) (*self)->Took(*result);
      });
}

void Wait::Took(const ReadResult& result) {
  reading_ = false;
  for (const Result<JobStatus>& status : result.jobs) {
    if (!status.ok()) {
      End(status.status());
      return;
    }
    jobs_[status->id].status = *status;
  }
  Tell();
  if (EndIfDone()) return;
  if (changed_) Read();
}

void Wait::Tell() {
  if (!options_.progress) return;
  for (auto& [id, job] : jobs_) {
    if (!job.status) continue;
    Json object = ProgressObject(*job.status, hub_->progress(id));
    if (object == job.told) continue;
    job.told = object;
    on_progress_(std::move(object));
  }
}

bool Wait::EndIfDone() {
  Status worst;
  for (const auto& [id, job] : jobs_) {
    if (!job.status) return false;
    const bool stopped = options_.stop_on_paused && IsStopped(job.status->state);
    if (!stopped && !InfoOf(job.status->state).terminal) return false;
    const Status result = WaitResultOf(*job.status);
    worst = worst.ok() ? result : Worse(worst, result);
  }
  End(std::move(worst));
  return true;
}

void Wait::Tick() {
  const double now = SystemClock().MonotonicSeconds();
  if (options_.timeout_seconds && now - began_ >= *options_.timeout_seconds) {
    std::string unfinished;
    Status worst;
    for (const auto& [id, job] : jobs_) {
      if (job.status && InfoOf(job.status->state).terminal) {
        const Status result = WaitResultOf(*job.status);
        worst = worst.ok() ? result : Worse(worst, result);
      } else if (job.status) {
        unfinished += fmt::format("{}{} is {} at step {}", unfinished.empty() ? "" : ", ",
                                  JobTitle(*job.status), JobStateName(job.status->state), job.status->step);
      }
    }
    const Status timed_out(ErrorCode::WAIT_TIMED_OUT,
                           fmt::format("after {}: {}", FormatDuration(*options_.timeout_seconds), unfinished),
                           "the jobs go on; WAIT FOR JOB waits again");
    End(worst.ok() ? timed_out : Worse(worst, timed_out));
    return;
  }
  Tell();
  if (now - read_at_ >= kRereadSeconds) Read();
}

void Wait::End(Status status) {
  tick_.Stop();
  if (on_end_) std::exchange(on_end_, nullptr)(std::move(status));
}

}  // namespace traind::daemon
