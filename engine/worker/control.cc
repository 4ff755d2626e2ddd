// The control socket's reader and writer.
#include "engine/worker/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <utility>

#include "engine/base/frame.h"
#include "engine/base/limits.h"
#include "engine/base/log.h"

namespace traind::worker {
namespace {

constexpr std::chrono::milliseconds kRowDelay(100);
constexpr size_t kMaxRowsPerMessage = 200;  // 50 KiB: far from any limit
constexpr size_t kRoomBytes = size_t{1} << 18;
constexpr size_t kReadBytes = 65536;

bool IsTask(std::string_view type) {
  constexpr std::string_view kTasks[] = {"train",  "evaluate", "generate",
                                         "import", "export",   "make_tokenizer"};
  return std::ranges::find(kTasks, type) != std::end(kTasks);
}

std::atomic<bool> shutdown_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

std::chrono::steady_clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

Control::Control(int descriptor) : descriptor_(descriptor) {
  if (pipe2(wake_, O_CLOEXEC) != 0) {
    Log(LogLevel::kError, "no pipe: error {}", errno);
    gone_ = true;
    return;
  }
  reader_ = std::thread([this] { ReadLoop(); });
  writer_ = std::thread([this] { WriteLoop(); });
}

Control::~Control() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (wake_[1] >= 0) close(wake_[1]);
  if (reader_.joinable()) reader_.join();
  // A writer that waits for a daemon that does not read is woken by the socket's end.
  shutdown(descriptor_, SHUT_RDWR);
  if (writer_.joinable()) writer_.join();
  if (wake_[0] >= 0) close(wake_[0]);
}

void Control::RequestShutdown() {
  shutdown_requested.store(true);
}

std::optional<Json> Control::WaitForTask(double timeout_seconds) {
  constexpr std::chrono::milliseconds kSignalCheck(50);
  const auto end = std::chrono::steady_clock::now() + Seconds(timeout_seconds);
  std::unique_lock lock(mutex_);
  while (!task_ && !gone_ && !shutdown_requested.load() && std::chrono::steady_clock::now() < end) {
    changed_.wait_for(lock, kSignalCheck);
  }
  return std::exchange(task_, std::nullopt);
}

train::Requests Control::requests() const {
  const std::lock_guard lock(mutex_);
  train::Requests requests = requests_;
  requests.listener_gone = gone_;
  if (!requests.stop && shutdown_requested.load()) requests.stop = train::StopReason::kShutdown;
  if (!requests.stop && gone_) requests.stop = train::StopReason::kDaemonGone;
  return requests;
}

void Control::CheckpointAnswered() {
  const std::lock_guard lock(mutex_);
  requests_.checkpoint = false;
}

void Control::Send(const Json& message) {
  {
    const std::lock_guard lock(mutex_);
    QueueRows();
    AppendFrame(message, &outbox_);
  }
  changed_.notify_all();
}

void Control::SendIfRoom(const Json& message) {
  {
    const std::lock_guard lock(mutex_);
    if (outbox_.size() > kRoomBytes) return;
    AppendFrame(message, &outbox_);
  }
  changed_.notify_all();
}

void Control::SendMetrics(const MetricRow& row) {
  const std::lock_guard lock(mutex_);
  rows_.push_back(row);
  if (rows_.size() >= kMaxRowsPerMessage) QueueRows();
  // The writer looks every kRowDelay while rows wait.
}

// With the mutex held.
void Control::QueueRows() {
  if (rows_.empty()) return;
  Json message = {{"type", "metrics"}, {"rows", Json::array()}};
  for (const MetricRow& row : rows_) message["rows"].push_back(MetricRowToJson(row));
  AppendFrame(message, &outbox_);
  rows_.clear();
}

bool Control::Flush(double timeout_seconds) {
  std::unique_lock lock(mutex_);
  QueueRows();
  changed_.notify_all();
  const auto done = [this] { return gone_ || (outbox_.empty() && !writing_); };
  return changed_.wait_for(lock, Seconds(timeout_seconds), done) && !gone_;
}

void Control::MarkGone() {
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
  }
  changed_.notify_all();
}

void Control::ReadLoop() {
  FrameReader frames(kMaxReplyFrameBytes);
  std::string buffer(kReadBytes, '\0');
  pollfd waits[] = {{descriptor_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
  for (;;) {
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return MarkGone();
    if (waits[1].revents != 0) return;
    if (waits[0].revents == 0) continue;
    const ssize_t got = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    if (got <= 0) return MarkGone();
    frames.Feed(std::string_view(buffer).substr(0, static_cast<size_t>(got)));
    for (;;) {
      Result<std::optional<Json>> message = frames.Next();
      if (!message.ok()) {
        Log(LogLevel::kError, "the daemon's messages cannot be read: {}", message.status().ToString());
        return MarkGone();
      }
      if (!*message) break;
      Take(**message);
    }
  }
}

void Control::Take(const Json& message) {
  const std::string type = GetStringOr(message, "type", "").ok() ? *GetStringOr(message, "type", "") : "";
  {
    const std::lock_guard lock(mutex_);
    if (IsTask(type)) {
      task_ = message;
    } else if (type == "checkpoint") {
      requests_.checkpoint = true;
    } else if (type == "stop") {
      const Result<std::string> reason = GetString(message, "reason");
      const auto stop = reason.ok() ? train::ParseStopReason(*reason) : std::nullopt;
      requests_.stop = stop.value_or(train::StopReason::kShutdown);
    } else if (type == "saved") {
      const Result<int64_t> step = GetInt(message, "step");
      if (step.ok()) requests_.saved_step = std::max(requests_.saved_step.value_or(*step), *step);
    } else {
      Log(LogLevel::kWarning, "a message of the unknown type '{}'", type);
    }
  }
  changed_.notify_all();
}

void Control::WriteLoop() {
  std::unique_lock lock(mutex_);
  while (!ending_ && !gone_) {
    changed_.wait_for(lock, kRowDelay, [this] { return ending_ || gone_ || !outbox_.empty(); });
    QueueRows();
    if (outbox_.empty()) continue;
    const std::string bytes = std::exchange(outbox_, {});
    writing_ = true;
    lock.unlock();
    const bool written = Write(bytes);
    lock.lock();
    writing_ = false;
    gone_ |= !written;
    changed_.notify_all();
  }
}

bool Control::Write(const std::string& bytes) const {
  for (size_t begin = 0; begin < bytes.size();) {
    const ssize_t sent = send(descriptor_, bytes.data() + begin, bytes.size() - begin, MSG_NOSIGNAL);
    if (sent >= 0) {
      begin += static_cast<size_t>(sent);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd wait{descriptor_, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace traind::worker
