// A real traind-worker with the test as its daemon.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/frame.h"
#include "engine/base/limits.h"
#include "engine/spec/task.h"

namespace traind::testing {

class WorkerProcess {
 public:
  // `fault` is TRAIND_FAULT for this worker only.
  explicit WorkerProcess(const std::string& fault = "") : frames_(kMaxFrameBytes) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) std::abort();
    const std::string program = std::string(std::getenv("TRAIND_BIN")) + "/traind-worker";
    pid_ = fork();
    if (pid_ == 0) {
      // dup2 to the same number keeps close-on-exec off: socketpair has not set it.
      dup2(sockets[1], kControlDescriptor);
      for (int descriptor = kControlDescriptor + 1; descriptor < 64; ++descriptor) close(descriptor);
      if (!fault.empty()) setenv("TRAIND_FAULT", fault.c_str(), 1);
      execl(program.c_str(), "traind-worker", static_cast<char*>(nullptr));
      _exit(127);
    }
    close(sockets[1]);
    socket_ = sockets[0];
  }
  ~WorkerProcess() {
    CloseSocket();
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }

  void Send(const Json& message) {
    std::string bytes;
    AppendFrame(message, &bytes);
    SendBytes(bytes);
  }
  void SendBytes(const std::string& bytes) {
    for (size_t begin = 0; begin < bytes.size();) {
      const ssize_t sent = send(socket_, bytes.data() + begin, bytes.size() - begin, MSG_NOSIGNAL);
      if (sent <= 0) return;
      begin += static_cast<size_t>(sent);
    }
  }
  void CloseSocket() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }

  // The next message; nullopt at the stream's end or after the time.
  std::optional<Json> Next(double seconds = 60) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
      Result<std::optional<Json>> message = frames_.Next();
      if (!message.ok()) std::abort();
      if (*message) return **message;
      const auto left = end - std::chrono::steady_clock::now();
      pollfd wait{socket_, POLLIN, 0};
      const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
      if (milliseconds <= 0 || poll(&wait, 1, static_cast<int>(milliseconds)) <= 0) return std::nullopt;
      char buffer[65536];
      const ssize_t got = recv(socket_, buffer, sizeof(buffer), 0);
      if (got <= 0) return std::nullopt;
      frames_.Feed(std::string_view(buffer, static_cast<size_t>(got)));
    }
  }

  // The exit status as waitpid gives it; -1 if it has not ended after the time.
  int WaitForExit(double seconds = 30) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return status;
      }
      usleep(2000);
    }
    return -1;
  }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  FrameReader frames_;
};

// What a daemon gets from one attempt, read to the stream's end with checkpoints acknowledged.
struct Attempt {
  std::vector<std::string> order;  // types, heartbeats and repetitions left out
  std::vector<MetricRow> rows;
  std::vector<Json> checkpoints;
  std::vector<std::string> logs;
  Json end;  // finished, failed or result; null if there was none
  int64_t heartbeats = 0;
  int64_t progress = 0;  // of the newest heartbeat
  int status = -1;       // as waitpid gives it
};

// `watch` is called after each message.
inline Attempt Follow(WorkerProcess* worker,
                      const std::function<void(const Json&, const Attempt&)>& watch = {}) {
  Attempt attempt;
  while (const std::optional<Json> message = worker->Next()) {
    const std::string type = *GetString(*message, "type");
    if (type == "heartbeat") {
      ++attempt.heartbeats;
      attempt.progress = *GetInt(*message, "progress");
    } else if (attempt.order.empty() || attempt.order.back() != type) {
      attempt.order.push_back(type);
    }
    if (type == "metrics") {
      for (const Json& row : (*message)["rows"]) attempt.rows.push_back(*MetricRowFromJson(row));
    } else if (type == "checkpoint") {
      attempt.checkpoints.push_back(*message);
      worker->Send({{"type", "saved"}, {"step", (*message)["step"]}});
    } else if (type == "log") {
      attempt.logs.push_back(*GetString(*message, "text"));
    } else if (type == "finished" || type == "failed" || type == "result") {
      attempt.end = *message;
    }
    if (watch) watch(*message, attempt);
  }
  attempt.status = worker->WaitForExit();
  return attempt;
}

inline Json TaskMessage(const TrainTask& task) {
  Json message = TrainTaskToJson(task);
  message["type"] = "train";
  return message;
}

}  // namespace traind::testing
