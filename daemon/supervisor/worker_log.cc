// Appending and cutting. The worker holds the file open for appending, so it is cut in place.
#include "daemon/supervisor/worker_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "engine/base/clock.h"
#include "engine/base/descriptor.h"
#include "engine/base/limits.h"

namespace traind::daemon {
namespace {

constexpr size_t kMaxPendingBytes = 262144;
// A worker can write some 100 MB in this time before its log is cut.
constexpr double kTendEverySeconds = 0.25;

void AppendText(const std::string& path, const std::string& text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return;
  // A log that cannot be written (a full disk) is no reason to stop anything.
  if (write(file.get(), text.data(), text.size()) < 0) return;
}

}  // namespace

void CutLog(const std::string& path, int64_t max_bytes) {
  const Descriptor file(open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0 || info.st_size <= max_bytes) return;
  std::string newer(static_cast<size_t>(max_bytes / 2), '\0');
  const ssize_t got = pread(file.get(), newer.data(), newer.size(), info.st_size - max_bytes / 2);
  if (got <= 0) return;
  newer.resize(static_cast<size_t>(got));
  const size_t line = newer.find('\n');
  if (line != std::string::npos) newer.erase(0, line + 1);
  if (ftruncate(file.get(), 0) != 0) return;
  if (write(file.get(), newer.data(), newer.size()) < 0) return;
}

void WorkerLog::Add(double wall_seconds, std::string_view level, std::string_view text) {
  if (pending_.size() > kMaxPendingBytes) {
    ++dropped_;
    return;
  }
  pending_ += fmt::format("{} {} {}\n", FormatTime(wall_seconds), level, text);
}

void WorkerLog::Tend() {
  const double now = SystemClock().MonotonicSeconds();
  if (now - tended_at_ < kTendEverySeconds) return;
  tended_at_ = now;
  Flush();
}

void WorkerLog::Flush() {
  if (busy_) return;
  busy_ = true;
  if (dropped_ > 0) pending_ += fmt::format("({} lines left out)\n", std::exchange(dropped_, 0));
  pool_->Submit(
      [path = path_, text = std::exchange(pending_, {})](Reader&) {
        if (!text.empty()) AppendText(path, text);
        CutLog(path, kMaxWorkerLogBytes);
      },
      [this, alive = alive_] {
        if (*alive) busy_ = false;
      });
}

}  // namespace traind::daemon
