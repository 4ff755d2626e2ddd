// Watching a worker: dead when the kernel says so, hung when nothing has been completed within its deadline.
#include "daemon/supervisor/worker_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/limits.h"
#include "engine/base/log.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

constexpr int64_t kTickMs = 200;
// A worker that has closed its socket has this long to end, and its last messages this long to arrive.
constexpr double kExitGraceSeconds = 10;
constexpr double kDrainGraceSeconds = 1;
constexpr double kMaxDeadlineSeconds = 86400;
// Progress is heard of this late at most.
constexpr double kHeartbeatSeconds = 1;

double Now() {
  return SystemClock().MonotonicSeconds();
}

Status DeathOf(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return {ErrorCode::WORKER_DIED,
            fmt::format("the worker was ended by signal {} ({})", number, strsignal(number)),
            number == SIGKILL ? "if nobody killed it, the system may have run out of memory" : ""};
  }
  const int code = WEXITSTATUS(wait_status);
  if (code == 0) return Ok();
  return {ErrorCode::WORKER_DIED, fmt::format("the worker left with exit code {}", code),
          "its output is in the job's worker.log: SHOW LOGS"};
}

}  // namespace

WorkerProcess::WorkerProcess(Loop* loop, Children* children, SpawnedWorker worker,
                             double first_deadline_seconds, Handlers handlers)
    : loop_(loop),
      children_(children),
      pid_(worker.pid),
      handlers_(std::move(handlers)),
      tick_(loop, [this] { Tick(); }),
      ticked_at_(Now()) {
  heartbeat_.deadline_seconds = first_deadline_seconds;
  heartbeat_.instruction = "start";
  Channel::Handlers channel;
  channel.message = [this](const Json& message) { Received(message); };
  channel.ended = [this](const Status& reason) { ChannelEnded(reason); };
  channel_ = std::make_unique<Channel>(loop, worker.control.release(), kMaxFrameBytes, std::move(channel));
  children_->Add(pid_, [this](int wait_status) { ProcessEnded(wait_status); });
  tick_.Every(kTickMs);
}

WorkerProcess::~WorkerProcess() {
  if (process_ended_) return;
  if (!abandoned_) Kill();
  children_->Forget(pid_);
}

void WorkerProcess::Send(const Json& message) {
  if (channel_ && !channel_ended_) channel_->Send(message);
}

void WorkerProcess::Kill() {
  if (!process_ended_) kill(-pid_, SIGKILL);
}

void WorkerProcess::Abandon() {
  abandoned_ = true;
  if (channel_ended_) return;
  channel_.reset();
  channel_ended_ = true;
  channel_ended_at_ = Now();
}

void WorkerProcess::Received(const Json& message) {
  const auto type = message.find("type");
  if (type == message.end() || !type->is_string()) {
    ChannelEnded(Status(ErrorCode::MALFORMED_FRAME, "a worker's message has no \"type\""));
    return;
  }
  if (*type == "heartbeat") {
    TakeHeartbeat(message);
  } else {
    handlers_.message(message);
  }
}

void WorkerProcess::TakeHeartbeat(const Json& message) {
  const auto progress = GetIntOr(message, "progress", heartbeat_.progress);
  const auto deadline = GetDoubleOr(message, "deadline_s", heartbeat_.deadline_seconds);
  const auto instruction = GetStringOr(message, "instruction", heartbeat_.instruction);
  const auto step = GetIntOr(message, "step", heartbeat_.step);
  const auto rss = GetIntOr(message, "rss_bytes", heartbeat_.rss_bytes);
  if (!progress.ok() || !deadline.ok() || !instruction.ok() || !step.ok() || !rss.ok()) return;
  if (*progress != heartbeat_.progress) silent_seconds_ = 0;
  heartbeat_.progress = *progress;
  heartbeat_.instruction = *instruction;
  heartbeat_.step = *step;
  heartbeat_.rss_bytes = *rss;
  Log(LogLevel::kDebug, "worker {}: progress {}, \"{}\" at step {}, which may take {:.1f} s", pid_, *progress,
      *instruction, *step, *deadline);
  if (std::isfinite(*deadline) && *deadline > 0) {
    heartbeat_.deadline_seconds = std::min(*deadline, kMaxDeadlineSeconds);
  }
}

void WorkerProcess::Tick() {
  const double now = Now();
  // A pause of this process itself (suspend, SIGSTOP) is not held against the worker.
  silent_seconds_ += std::min(now - ticked_at_, 2e-3 * static_cast<double>(kTickMs));
  ticked_at_ = now;
  if (channel_ended_ && !process_ended_ && now - channel_ended_at_ > kExitGraceSeconds) Kill();
  if (process_ended_ && !channel_ended_ && now - process_ended_at_ > kDrainGraceSeconds) {
    // A grandchild holds the socket: nothing more is to be heard from the worker itself.
    Abandon();
    EndIfBoth();
    return;
  }
  if (process_ended_ || !cause_.ok() || silent_seconds_ <= heartbeat_.deadline_seconds + kHeartbeatSeconds)
    return;
  cause_ = Status(
      ErrorCode::WORKER_HUNG,
      fmt::format("the worker (process {}, rank 0) completed nothing within {} in \"{}\" at step {}", pid_,
                  FormatDuration(heartbeat_.deadline_seconds), heartbeat_.instruction, heartbeat_.step));
  Log(LogLevel::kWarning, "{}", cause_.ToString());
  Kill();
}

void WorkerProcess::ChannelEnded(const Status& reason) {
  if (channel_ended_) return;
  channel_ended_ = true;
  channel_ended_at_ = Now();
  if (!reason.ok()) {
    if (cause_.ok()) cause_ = reason;
    Kill();
  }
  EndIfBoth();
}

void WorkerProcess::ProcessEnded(int wait_status) {
  kill(-pid_, SIGKILL);  // whatever of its group is left
  process_ended_ = true;
  process_ended_at_ = Now();
  wait_status_ = wait_status;
  EndIfBoth();
}

void WorkerProcess::EndIfBoth() {
  if (!channel_ended_ || !process_ended_ || !handlers_.ended) return;
  tick_.Stop();
  WorkerEnding ending;
  ending.cause = cause_.ok() ? DeathOf(wait_status_) : cause_;
  if (WIFSIGNALED(wait_status_)) ending.signal_number = WTERMSIG(wait_status_);
  if (WIFEXITED(wait_status_)) ending.exit_code = WEXITSTATUS(wait_status_);
  std::exchange(handlers_.ended, nullptr)(ending);
}

}  // namespace traind::daemon
