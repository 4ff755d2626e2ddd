// Accepting, refusing, leaving.
#include "daemon/server.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/reply.h"
#include "daemon/version.h"
#include "engine/base/clock.h"
#include "engine/base/frame.h"
#include "engine/base/log.h"

namespace traind::daemon {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr int64_t kAcceptAgainMs = 100;  // after running out of descriptors
constexpr int64_t kTendEveryMs = 1000;
constexpr double kHelloSeconds = 60;  // a connection that has not said hello by then is closed
// The last replies have this long to be taken by those who still read.
constexpr double kFlushSeconds = 2;
constexpr int64_t kFlushEveryMs = 10;

double Now() {
  return SystemClock().MonotonicSeconds();
}

std::optional<uid_t> PeerOf(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid;
}

}  // namespace

Server::Server(Parts parts)
    : parts_(std::move(parts)),
      accept_again_(parts_.loop, [this] { accept_->Start(); }),
      tend_(parts_.loop, [this] { Tend(); }),
      leave_(parts_.loop, [this] { LeaveWhenFlushed(); }),
      started_at_(Now()),
      busy_at_(Now()) {
  services_.loop = parts_.loop;
  services_.pool = parts_.pool;
  services_.hub = parts_.hub;
  services_.supervisor = parts_.supervisor;
  services_.daemon = parts_.daemon;
  services_.shut_down = [this](std::function<void(Json)> stopped) { ShutDown(stopped); };
  services_.status = [this] { return StatusReport(); };
  services_.leaving = [this] { return leaving_; };
  tend_.Every(kTendEveryMs);
}

Server::~Server() = default;

void Server::Listen(Descriptor socket) {
  socket_ = std::move(socket);
  accept_ = std::make_unique<Watch>(parts_.loop, socket_.get(), [this] { Accept(); });
  accept_->Start();
}

void Server::Embed(Descriptor connection) {
  AddSession(std::move(connection), true);
}

void Server::Accept() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Descriptor connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.valid()) {
      Admit(std::move(connection));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    Log(LogLevel::kWarning, "a connection cannot be accepted: {}", strerror(errno));
    accept_->Stop();
    accept_again_.Once(kAcceptAgainMs);
    return;
  }
}

void Server::Admit(Descriptor connection) {
  const std::optional<uid_t> peer = PeerOf(connection.get());
  if (!peer || *peer != geteuid()) {
    Refuse(connection,
           Status(ErrorCode::PEER_REFUSED, fmt::format("this daemon serves user {} only", geteuid()),
                  "start a daemon of your own: trainql does it by itself"));
  } else if (static_cast<int64_t>(clients_.size()) >= kMaxConnections) {
    Refuse(connection, Status(ErrorCode::TOO_MANY,
                              fmt::format("{} clients are connected; that is the limit", kMaxConnections),
                              "close some, or try again later"));
  } else if (leaving_) {
    Refuse(connection, Status(ErrorCode::SHUTTING_DOWN, "this daemon is leaving",
                              "try again: the next daemon takes over"));
  } else {
    AddSession(std::move(connection), false);
  }
}

// A refusal is short enough for the socket's empty buffer; if it is not taken, nothing is lost.
void Server::Refuse(const Descriptor& connection, const Status& status) {
  std::string frame;
  AppendFrame(ErrorMessage(std::nullopt, status), &frame);
  if (send(connection.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    Log(LogLevel::kDebug, "a refused client does not read: {}", strerror(errno));
  }
  Log(LogLevel::kWarning, "a client is refused: {}", status.ToString());
}

void Server::AddSession(Descriptor connection, bool embedded) {
  const int64_t id = ++last_client_;
  Client& client = clients_[id];
  client.since = Now();
  client.session = Session::Open(&services_, connection.release(), embedded, [this, id, embedded] {
    // Later: the session is in the midst of closing.
    parts_.loop->Post([this, id, embedded] {
      clients_.erase(id);
      busy_at_ = Now();
      if (embedded) ShutDown();
    });
  });
}

void Server::ShutDown(const std::function<void(Json)>& reply) {
  if (reply) replies_.push_back(reply);
  if (leaving_) return;
  leaving_ = true;
  Log(LogLevel::kInfo, "leaving: jobs are stopped with a checkpoint");
  parts_.stop_listening();
  parts_.supervisor->Stop([this](const Json& stopped) {
    const Status leaving(ErrorCode::SHUTTING_DOWN, "the daemon was stopped; jobs go on when it runs again",
                         "WAIT FOR JOB waits again");
    for (const auto& [id, client] : clients_) client.session->EndWaiting(leaving);
    for (const auto& action : replies_) action(stopped);
    flush_until_ = Now() + kFlushSeconds;
    LeaveWhenFlushed();
  });
}

void Server::ShutDownAtOnce() {
  Log(LogLevel::kWarning, "leaving at once: workers stop by themselves");
  leaving_ = true;
  parts_.stop_listening();
  parts_.supervisor->Abandon();
  Leave();
}

void Server::LeaveWhenFlushed() {
  const bool unsent = std::ranges::any_of(
      clients_, [](const auto& entry) { return entry.second.session->unsent_bytes() > 0; });
  if (unsent && Now() < flush_until_) {
    leave_.Once(kFlushEveryMs);
  } else {
    Leave();
  }
}

void Server::Leave() {
  const Json lag = parts_.loop->lag().ToJson();
  Log(LogLevel::kInfo, "left after {:.0f} s; loop turns: {}", Now() - started_at_, DumpJson(lag));
  parts_.loop->Stop();
}

void Server::Tend() {
  const double now = Now();
  for (const auto& [id, client] : clients_) {
    if (client.session->said_hello() || now - client.since < kHelloSeconds) continue;
    client.session->Refuse(Status(ErrorCode::MALFORMED_FRAME, "no hello came"));
  }
  TendIdle();
}

// Jobs that wait for a user (PAUSED, HELD) need no daemon; all others that are not terminal do.
void Server::TendIdle() {
  if (parts_.idle_exit_seconds <= 0 || leaving_ || checking_jobs_) return;
  const double now = Now();
  if (!clients_.empty()) busy_at_ = now;
  if (now - busy_at_ < parts_.idle_exit_seconds) return;
  checking_jobs_ = true;
  auto unfinished = std::make_shared<bool>(true);
  parts_.pool->Submit(
      [unfinished](Reader& reader) {
        const auto row = reader.QueryRow(
            "SELECT count(*) FROM main._jobs WHERE state IN ('QUEUED', 'PREPARING', 'RUNNING', 'STALLED')");
        if (row.ok() && *row) *unfinished = std::get<int64_t>((**row)[0]) > 0;
      },
      [this, unfinished] {
        checking_jobs_ = false;
        if (*unfinished) {
          busy_at_ = Now();
        } else if (clients_.empty() && !leaving_) {
          Log(LogLevel::kInfo, "nobody was connected for {:.0f} s and no job is left", Now() - busy_at_);
          ShutDown();
        }
      });
}

Json Server::StatusReport() const {
  return Json{{"version", kVersion},
              {"pid", getpid()},
              {"uptime_seconds", Now() - started_at_},
              {"connections", clients_.size()},
              {"pool_threads", parts_.pool->threads()},
              {"loop", parts_.loop->lag().ToJson()}};
}

}  // namespace traind::daemon
