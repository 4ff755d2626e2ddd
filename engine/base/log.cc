// The log: spdlog with sinks that neither block nor leak their descriptor to children.
#include "engine/base/log.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

namespace traind {
namespace {

// Writes what fits without waiting: a line that a full pipe or disk does not take is lost, never the process.
void WriteOrDrop(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& entry) override {
    spdlog::memory_buf_t line;
    formatter_->format(entry, line);
    // A pipe that polls writable takes PIPE_BUF bytes at once.
    pollfd target{STDERR_FILENO, POLLOUT, 0};
    if (poll(&target, 1, 0) != 1 || (target.revents & POLLOUT) == 0) return;
    if (line.size() > PIPE_BUF) {
      line.resize(PIPE_BUF);
      line[PIPE_BUF - 1] = '\n';
    }
    WriteOrDrop(STDERR_FILENO, {line.data(), line.size()});
  }
  void flush_() override {}
};

class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FileSink(std::string path, int64_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {}
  ~FileSink() override {
    if (descriptor_ >= 0) close(descriptor_);
  }

  Status Open() {
    descriptor_ =
        open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat info {};
    if (descriptor_ < 0 || fstat(descriptor_, &info) != 0) {
      return Status(ErrorCode::IO, "cannot open the log " + path_ + ": " + std::strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
      return Status(ErrorCode::NOT_A_REGULAR_FILE, "the log " + path_ + " is not a regular file");
    }
    bytes_ = info.st_size;
    return Ok();
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& entry) override {
    spdlog::memory_buf_t line;
    formatter_->format(entry, line);
    if (bytes_ > 0 && bytes_ + static_cast<int64_t>(line.size()) > max_bytes_) Rotate();
    WriteOrDrop(descriptor_, {line.data(), line.size()});
    bytes_ += static_cast<int64_t>(line.size());
  }
  void flush_() override {}

 private:
  void Rotate() {
    const std::string older = path_ + ".1";
    if (std::rename(path_.c_str(), older.c_str()) != 0) return;
    const int previous = descriptor_;
    if (Open().ok()) {
      close(previous);
    } else {  // go on in the renamed file
      if (descriptor_ >= 0) close(descriptor_);
      descriptor_ = previous;
      bytes_ = 0;
    }
  }

  std::string path_;
  int64_t max_bytes_;
  int64_t bytes_ = 0;
  int descriptor_ = -1;
};

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> MakeLogger(std::string_view process, spdlog::sink_ptr sink, LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>(std::string(process), std::move(sink));
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %n: %v",
                                                                    spdlog::pattern_time_type::utc));
  logger->set_level(LevelOf(level));
  logger->set_error_handler([](const std::string&) {});
  return logger;
}

struct Sink {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger =
      MakeLogger("traind", std::make_shared<StderrSink>(), LogLevel::kInfo);
};

// Never destroyed: threads may log until the process is gone.
Sink& TheSink() {
  static Sink* const sink = new Sink;
  return *sink;
}

// An entry is one line: what would break or forge one is shown escaped.
std::string OneLine(std::string_view message) {
  std::string line;
  line.reserve(message.size());
  for (const char c : message) {
    if (c == '\n') {
      line += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

Status OpenLog(std::string_view process, const std::string& path, LogLevel level, int64_t max_bytes) {
  spdlog::sink_ptr target;
  if (path.empty()) {
    target = std::make_shared<StderrSink>();
  } else {
    auto file = std::make_shared<FileSink>(path, max_bytes);
    TRAIND_TRY(file->Open());
    target = std::move(file);
  }
  auto logger = MakeLogger(process, std::move(target), level);
  Sink& sink = TheSink();
  const std::lock_guard lock(sink.mutex);
  sink.logger = std::move(logger);
  return Ok();
}

void LogLine(LogLevel level, std::string_view message) {
  Sink& sink = TheSink();
  std::shared_ptr<spdlog::logger> logger;
  {
    const std::lock_guard lock(sink.mutex);
    logger = sink.logger;
  }
  if (!logger->should_log(LevelOf(level))) return;
  const std::string line = OneLine(message);
  logger->log(LevelOf(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace traind
