// A daemon within the test's process: real loop, pools, catalog, sessions and socket, with the test's own
// Execute. No worker program: jobs stay queued.
#pragma once

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "daemon/loop.h"
#include "daemon/pool.h"
#include "daemon/server.h"
#include "daemon/stream/hub.h"
#include "daemon/supervisor/children.h"
#include "daemon/supervisor/supervisor.h"
#include "engine/base/clock.h"
#include "engine/base/frame.h"
#include "engine/base/limits.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::testing {

class TestServer {
 public:
  TestServer() {
    signal(SIGPIPE, SIG_IGN);  // as the daemon does
    assert_ok(state_.Open());
    daemon_.state_directory = state_.path();
    daemon_.catalog = &state_.catalog();
    daemon_.io = &PosixIo();
    daemon_.clock = &SystemClock();
    daemon_.devices = [] { return std::vector<DeviceSpec>(); };
    daemon_.device_busy = [](const std::string&, int64_t) { return false; };
    daemon_.job_changed = [this](int64_t job) { loop_->Post([this, job] { hub_->JobChanged(job); }); };
    thread_ = std::thread([this] { Run(); });
    while (!ready_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~TestServer() { Stop(); }

  // As SIGTERM does; returns when the loop has ended.
  void Stop() {
    if (!thread_.joinable()) return;
    loop_->Post([this] { server_->ShutDown(); });
    thread_.join();
  }

  int Connect() const {
    const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = Address();
    if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail();
    const timeval patience{20, 0};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return connection;
  }

  // Runs `task` on the loop and waits for it.
  template <typename Task>
  void OnLoop(const Task& task) {
    std::atomic<bool> done = false;
    loop_->Post([&] {
      task();
      done = true;
    });
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  TemporaryState& state() { return state_; }
  daemon::DaemonState& daemon() { return daemon_; }
  daemon::Hub& hub() { return *hub_; }
  daemon::Loop& loop() { return *loop_; }
  daemon::Server& server() { return *server_; }

 private:
  sockaddr_un Address() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = state_.path() + "/traind.sock";
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
  }

  void Run() {
    daemon::Loop loop;
    loop_ = &loop;
    auto statements = daemon::Pool::Start(&loop, daemon_.catalog, 4, 16);
    auto background = daemon::Pool::Start(&loop, daemon_.catalog, 1, 1);
    assert_ok(statements);
    assert_ok(background);
    hub_ = std::make_unique<daemon::Hub>(&loop, statements->get());
    daemon::Children children(&loop);
    daemon::Supervisor supervisor(&loop, background->get(), hub_.get(), &children, &daemon_, "/nonexistent",
                                  1);
    daemon::Server::Parts parts;
    parts.loop = &loop;
    parts.pool = statements->get();
    parts.hub = hub_.get();
    parts.supervisor = &supervisor;
    parts.daemon = &daemon_;
    parts.stop_listening = [] {};
    server_ = std::make_unique<daemon::Server>(std::move(parts));
    Descriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = Address();
    if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail();
    if (listen(listening.get(), 128) != 0) fail();
    server_->Listen(std::move(listening));
    ready_ = true;
    loop.Run();
    server_.reset();
    statements->reset();
    background->reset();
  }

  TemporaryState state_;
  daemon::DaemonState daemon_;
  daemon::Loop* loop_ = nullptr;
  std::unique_ptr<daemon::Hub> hub_;
  std::unique_ptr<daemon::Server> server_;
  std::atomic<bool> ready_ = false;
  std::thread thread_;
};

// A client that blocks.
class TestClient {
 public:
  explicit TestClient(const TestServer& server, bool hello = true) : connection_(server.Connect()) {
    if (!hello) return;
    Send({{"id", 0}, {"op", "hello"}, {"protocol", 1}, {"directory", "/tmp"}});
    assert_true(Receive()->contains("ok"));
  }
  ~TestClient() { Close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void Close() {
    if (connection_ >= 0) close(connection_);
    connection_ = -1;
  }
  void Send(const Json& message) {
    std::string frame;
    AppendFrame(message, &frame);
    SendBytes(frame);
  }
  void SendBytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t put = send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put <= 0) return;  // cut off: what comes next shows it
      bytes.remove_prefix(static_cast<size_t>(put));
    }
  }
  void Execute(int64_t id, const std::string& text, Json more = Json::object()) {
    more.update(Json{{"id", id}, {"op", "execute"}, {"text", text}});
    Send(more);
  }
  // The next message; nullopt when the daemon has closed.
  std::optional<Json> Receive() {
    while (true) {
      auto next = reader_.Next();
      assert_ok(next);
      if (next->has_value()) return std::move(**next);
      std::array<char, 65536> buffer{};
      const ssize_t got = read(connection_, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_msg("nothing came");
      if (got == 0) return std::nullopt;
      reader_.Feed(std::string_view(buffer.data(), static_cast<size_t>(got)));
    }
  }
  // The last message of request `id`; rows and others on the way are counted or dropped.
  Json Await(int64_t id) {
    while (true) {
      const auto message = Receive();
      if (!message) fail_msg("closed");
      if ((*message)["id"] != id) continue;
      if (message->contains("rows")) rows_ += (*message)["rows"].size();
      if (message->contains("done") || message->contains("error") || message->contains("ok")) return *message;
    }
  }
  size_t rows() const { return rows_; }
  int connection() const { return connection_; }

 private:
  int connection_;
  FrameReader reader_{kMaxReplyFrameBytes};
  size_t rows_ = 0;
};

}  // namespace traind::testing
