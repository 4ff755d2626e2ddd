// The ways to a daemon: a socket, a socket whose daemon is started first, and a private daemon on a socket
// pair.
#include "capi/connect.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "engine/base/limits.h"

namespace traind::capi {
namespace {

constexpr int kStartingMs = 20;      // between two tries to reach a daemon that is starting
constexpr int kLeavingMs = 200;      // between two tries to take over from one that is leaving
constexpr int kTakenGraceMs = 3000;  // for a private daemon whose program has just ended to notice it
constexpr int kExitGraceMs = 2000;   // for a daemon that closed its socket to end as a process
constexpr int kHandshakeMs = 2000;   // at least, for a daemon to answer
constexpr int kLoserGraceMs = 3000;  // for the daemon that was started at the same time by somebody else

constexpr const char* kIdleExit = "5m";  // of a daemon that was started in passing

using Clock = std::chrono::steady_clock;

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool passed() const { return Clock::now() >= end_; }
  // What a handshake gets: it has begun in time, so it may end a little late.
  int handshake_ms() const { return std::max(left_ms(), kHandshakeMs); }
  int left_ms() const {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return left <= 0 ? 0 : static_cast<int>(left);
  }

 private:
  Clock::time_point end_;
};

void Pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

Status Unreachable(const Address& address, std::string_view reason) {
  return Status(ErrorCode::DAEMON_UNREACHABLE,
                fmt::format("no daemon answers at {}: {}", address.path, reason),
                address.is_default ? "trainql starts it; so does: traind"
                                   : "start the daemon of that directory with: traind --state DIR");
}

// The daemon must be ours: statements and paths go to it.
Status CheckPeer(const Address& address, int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return Unreachable(address, strerror(errno));
  if (peer.uid == geteuid()) return Ok();
  return Status(ErrorCode::PEER_REFUSED,
                fmt::format("the daemon at {} belongs to user {}, not to you (user {})", address.path,
                            peer.uid, geteuid()),
                "a daemon serves only the user who runs it");
}

Result<Descriptor> Connect(const Address& address, int timeout_ms) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.path.size() >= sizeof name.sun_path) return Unreachable(address, "the path is too long");
  memcpy(name.sun_path, address.path.c_str(), address.path.size() + 1);
  // A daemon that hangs does not take connections off its queue, and connect() would wait for room there.
  timeval patience{timeout_ms / 1000, (timeout_ms % 1000) * 1000 + 1};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (!socket.valid() || connect(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) {
    return Unreachable(address, strerror(errno));
  }
  TRAIND_TRY(CheckPeer(address, socket.get()));
  return socket;
}

std::string WorkingDirectory(const Config& config) {
  if (!config.directory.empty()) return config.directory;
  std::array<char, PATH_MAX> path{};
  return getcwd(path.data(), path.size()) == nullptr ? "/" : std::string(path.data());
}

void TakeInfo(const Json& hello, std::map<std::string, std::string>* info) {
  for (const char* key : {"version", "pid", "state_directory"}) {
    auto field = hello.find(key);
    if (field == hello.end()) continue;
    (*info)[key] = field->is_string() ? field->get<std::string>() : DumpJson(*field);
  }
}

Result<Session> ShakeHands(Descriptor socket, const Config& config, int timeout_ms) {
  Session session;
  TRAIND_ASSIGN(session.client, Client::Make(std::move(socket)));
  TRAIND_ASSIGN(Json reply, session.client->Call({{"op", "hello"},
                                                  {"protocol", kProtocolVersion},
                                                  {"client", config.client},
                                                  {"directory", WorkingDirectory(config)}},
                                                 timeout_ms));
  TRAIND_ASSIGN(int64_t protocol, GetInt(reply, "protocol"));
  if (protocol != kProtocolVersion) {
    return Status(ErrorCode::PROTOCOL_MISMATCH,
                  fmt::format("the daemon speaks protocol {}, this library {}", protocol, kProtocolVersion),
                  "restart the daemon, or use the library of its version");
  }
  TakeInfo(reply, &session.info);
  return session;
}

Result<Session> TryUnix(const Address& address, const Config& config, const Deadline& deadline) {
  TRAIND_ASSIGN(Descriptor socket, Connect(address, deadline.handshake_ms()));
  TRAIND_ASSIGN(Session session, ShakeHands(std::move(socket), config, deadline.handshake_ms()));
  session.client->set_lost_hint(fmt::format("its log is {}/traind.log; jobs go on when it runs again",
                                            session.info["state_directory"]));
  return session;
}

// A daemon that is leaving, or that was about to listen, is worth another try.
bool MayComeUp(const Status& status) {
  return status.code() == ErrorCode::DAEMON_UNREACHABLE || status.code() == ErrorCode::DAEMON_LOST ||
         status.code() == ErrorCode::SHUTTING_DOWN;
}

Status DidNotStart(const Process& process, const std::string& program) {
  std::string output = process.OutputTail();
  return Status(ErrorCode::DAEMON_UNREACHABLE, output.empty()
                                                   ? fmt::format("{} ended without saying why", program)
                                                   : fmt::format("{} did not start: {}", program, output));
}

std::string ParentOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Starts the user's own daemon and waits until it answers. Of two that are started at once one gives way: so
// a daemon of ours that ends is no failure while another may come up.
Result<Session> StartAndOpen(const Address& address, const Config& config, const Deadline& deadline) {
  TRAIND_ASSIGN(std::string program, FindDaemonProgram(config.traind));
  TRAIND_ASSIGN(Process process,
                Spawn(program, {"traind", "--state", ParentOf(address.path), "--idle-exit", kIdleExit}, -1));
  std::optional<Deadline> grace;
  while (true) {
    Result<Session> session = TryUnix(address, config, deadline);
    if (session.ok() || !MayComeUp(session.status())) return session;
    if (!grace.has_value() && process.WaitForEnd(0)) grace.emplace(kLoserGraceMs / 1e3);
    if (grace.has_value() && grace->passed()) return DidNotStart(process, program);
    if (deadline.passed()) return session;
    Pause(kStartingMs);
  }
}

Result<Session> OpenUnix(const Address& address, const Config& config, const Deadline& deadline) {
  Result<Session> session = TryUnix(address, config, deadline);
  bool may_start = address.is_default && config.autostart && !deadline.passed();
  if (session.ok() || !may_start || !MayComeUp(session.status())) return session;
  return StartAndOpen(address, config, deadline);
}

Result<Session> TryEmbed(const Address& address, const Config& config, const Deadline& deadline) {
  TRAIND_ASSIGN(std::string program, FindDaemonProgram(config.traind));
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Status(ErrorCode::IO, fmt::format("cannot make a socket pair: {}", strerror(errno)));
  }
  Descriptor ours(pair[0]), theirs(pair[1]);
  TRAIND_ASSIGN(Process process, Spawn(program,
                                       {"traind", "--embedded", "--socket-fd", fmt::to_string(kDaemonSocket),
                                        "--state", address.path},
                                       theirs.get()));
  theirs.reset();
  Result<Session> session = ShakeHands(std::move(ours), config, deadline.handshake_ms());
  if (!session.ok()) {
    bool ended = process.WaitForEnd(kExitGraceMs);
    bool explained = session.status().code() != ErrorCode::DAEMON_LOST;
    return explained || !ended ? session.status() : DidNotStart(process, program);
  }
  session->client->set_lost_hint(
      fmt::format("its log is {}/traind.log; jobs go on when the directory is opened again", address.path));
  session->process.emplace(std::move(process));
  return session;
}

// Whether a daemon listens in the directory: one that stays, not one that is leaving.
bool IsServed(const Address& address) {
  Address socket{Address::Mode::kUnix, address.path + "/traind.sock", false};
  return Connect(socket, kExitGraceMs).ok();
}

// The daemon that holds the directory's lock writes there that it leaves.
bool IsLeaving(const Address& address) {
  const Descriptor lock(open((address.path + "/traind.lock").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 256> text{};
  if (!lock.valid() || pread(lock.get(), text.data(), text.size() - 1, 0) <= 0) return false;
  return strstr(text.data(), "leaving") != nullptr;
}

// A daemon that leaves is waited for; one that stays is named at once, or nearly.
Result<Session> OpenEmbed(const Address& address, const Config& config, const Deadline& deadline) {
  const Deadline taken(kTakenGraceMs / 1e3);
  while (true) {
    Result<Session> session = TryEmbed(address, config, deadline);
    if (session.ok() || session.status().code() != ErrorCode::STATE_IN_USE) return session;
    if (deadline.passed() || IsServed(address)) return session;
    if (taken.passed() && !IsLeaving(address)) return session;
    Pause(kLeavingMs);
  }
}

std::string Sentence(const Json& stopped, const std::string& directory) {
  std::string text;
  for (const Json& entry : stopped) {
    Result<int64_t> job = GetInt(entry, "job"), step = GetIntOr(entry, "step", 0);
    if (!job.ok() || !step.ok()) continue;
    if (!text.empty()) text += '\n';
    text += fmt::format("job {} stopped at step {}; it goes on when {} is opened; use WAIT", *job, *step,
                        directory);
  }
  return text;
}

}  // namespace

Result<Session> OpenSession(const std::string& text, const Config& config) {
  TRAIND_ASSIGN(Address address, ParseAddress(text, WorkingDirectory(config)));
  Deadline deadline(config.open_timeout_seconds);
  bool embed = address.mode == Address::Mode::kEmbed;
  TRAIND_ASSIGN(Session session,
                embed ? OpenEmbed(address, config, deadline) : OpenUnix(address, config, deadline));
  session.info["address"] = fmt::format("{}:{}", embed ? "embed" : "unix", address.path);
  session.info["embedded"] = embed ? "on" : "off";
  return session;
}

Result<std::string> CloseSession(Session* session) {
  if (!session->process.has_value()) return std::string();
  std::string message;
  Result<Json> reply = session->client->Call({{"op", "shutdown"}});
  if (reply.ok() && reply->is_object() && reply->contains("stopped")) {
    message = Sentence((*reply)["stopped"], session->info["state_directory"]);
  }
  if (!reply.ok()) session->client->Disconnect();
  if (!reply.ok() && reply.status().code() == ErrorCode::INTERRUPTED) return reply.status();
  if (!session->process->watch.valid()) return message;
  // The daemon ends when its workers have; until then only an interrupt makes us leave it alone.
  std::array<pollfd, 2> entries{pollfd{session->process->watch.get(), POLLIN, 0},
                                pollfd{session->client->wake_descriptor(), POLLIN, 0}};
  while (poll(entries.data(), entries.size(), kNoLimit) < 0 && errno == EINTR) {
  }
  if (entries[0].revents == 0)
    return Status(ErrorCode::INTERRUPTED, "interrupted while the private daemon leaves");
  return message;
}

}  // namespace traind::capi
