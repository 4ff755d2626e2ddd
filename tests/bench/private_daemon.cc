// Starting, talking to and stopping the bench's daemon.
#include "tests/bench/private_daemon.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/io.h"

extern char** environ;

namespace traind::bench {
namespace {

constexpr double kStartSeconds = 30;
constexpr useconds_t kPauseMicroseconds = 2000;

Status Failed(std::string_view what) {
  return {ErrorCode::IO, fmt::format("{}: {}", what, strerror(errno))};
}

std::string ProgramDirectory() {
  if (const char* directory = getenv("TRAIND_BIN"); directory != nullptr) return directory;
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string program(path.data(), length > 0 ? static_cast<size_t>(length) : 0);
  return program.substr(0, program.rfind('/'));
}

}  // namespace

Result<std::unique_ptr<BenchClient>> BenchClient::Connect(const std::string& socket_path) {
  Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path)
    return Status(ErrorCode::IO, "the socket's path is too long");
  memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return Failed("connect");
  }
  std::unique_ptr<BenchClient> client(new BenchClient(std::move(connection)));
  TRAIND_TRY(client->Call({{"op", "hello"}, {"protocol", 1}, {"directory", "/"}}).status());
  return client;
}

Status BenchClient::Send(const Json& message) {
  std::string frame;
  AppendFrame(message, &frame);
  for (size_t sent = 0; sent < frame.size();) {
    const ssize_t put = send(connection_.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && errno != EINTR) return Failed("send");
    if (put > 0) sent += static_cast<size_t>(put);
  }
  return Ok();
}

Result<Json> BenchClient::Receive() {
  std::array<char, 65536> buffer{};
  while (true) {
    TRAIND_ASSIGN(std::optional<Json> message, frames_.Next());
    if (message) return *std::move(message);
    const ssize_t got = read(connection_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read");
    if (got == 0) return Status(ErrorCode::DAEMON_LOST, "the daemon closed the connection");
    frames_.Feed(std::string_view(buffer.data(), static_cast<size_t>(got)));
  }
}

Result<Json> BenchClient::Call(Json request) {
  const int64_t id = ++last_id_;
  request["id"] = id;
  TRAIND_TRY(Send(request));
  while (true) {
    TRAIND_ASSIGN(const Json message, Receive());
    if (message.contains("event")) {
      metrics_ += message["event"]["kind"] == "metric" ? 1 : 0;
      continue;
    }
    if (message.contains("error")) return StatusFromJson(message["error"]);
    if (message.contains("ok")) return message["ok"];
    if (message.contains("done")) return message["done"];
  }
}

Status BenchClient::Execute(const std::string& text) {
  return Call({{"op", "execute"}, {"text", text}}).status();
}

Status BenchClient::NextMetric() {
  while (metrics_ == 0) {
    TRAIND_ASSIGN(const Json message, Receive());
    if (message.contains("event") && message["event"]["kind"] == "metric") ++metrics_;
  }
  --metrics_;
  return Ok();
}

Result<std::unique_ptr<PrivateDaemon>> PrivateDaemon::Start() {
  std::unique_ptr<PrivateDaemon> daemon(new PrivateDaemon());
  std::string name = "/tmp/traind-bench-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return Failed("mkdtemp");
  daemon->directory_ = name;
  const std::string program = ProgramDirectory() + "/traind";
  const std::string state = name + "/state";
  std::array<char*, 4> arguments = {const_cast<char*>(program.c_str()), const_cast<char*>("--state"),
                                    const_cast<char*>(state.c_str()), nullptr};
  const double began = SystemClock().MonotonicSeconds();
  errno = posix_spawn(&daemon->pid_, program.c_str(), nullptr, nullptr, arguments.data(), environ);
  if (errno != 0) return Failed(program);
  while (true) {
    const auto client = daemon->Connect();
    const double waited = SystemClock().MonotonicSeconds() - began;
    if (client.ok()) {
      daemon->ready_seconds_ = waited;
      return daemon;
    }
    if (waited > kStartSeconds) return client.status();
    usleep(kPauseMicroseconds);
  }
}

PrivateDaemon::~PrivateDaemon() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  const Status removed = PosixIo().RemoveTree(directory_);
  if (!removed.ok()) fmt::print(stderr, "{}\n", removed.ToString());
}

Result<std::unique_ptr<BenchClient>> PrivateDaemon::Connect() const {
  return BenchClient::Connect(directory_ + "/state/traind.sock");
}

Status SetUp(BenchClient* client) {
  TRAIND_TRY(client->Execute("CREATE DATASET d FROM '/usr/share/common-licenses/GPL-3' FORMAT text"));
  TRAIND_TRY(
      client->Execute("CREATE MODEL m ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=2, "
                      "num_attention_heads=4, intermediate_size=192, max_position_embeddings=64)"));
  // The first statement that needs devices waits for the machine's probe: that is not what is measured.
  return client->Execute("SHOW GPUS");
}

}  // namespace traind::bench
