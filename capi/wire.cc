// Reads are bounded per call, so that one flood of rows does not keep the caller from its own work.
#include "capi/wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace traind::capi {
namespace {

constexpr size_t kReadBytes = 65536;
constexpr int kReadsPerExchange = 64;

Status Lost(std::string_view reason) {
  return Status(ErrorCode::DAEMON_LOST, fmt::format("the connection to the daemon ended: {}", reason));
}

}  // namespace

Wire::Wire(Descriptor socket) : socket_(std::move(socket)) {
  int flags = fcntl(socket_.get(), F_GETFL);
  if (flags >= 0) fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
}

Status Wire::Queue(const Json& message) {
  constexpr size_t kLengthBytes = 4;
  size_t before = unsent_.size();
  AppendFrame(message, &unsent_);
  size_t bytes = unsent_.size() - before - kLengthBytes;
  if (bytes > static_cast<size_t>(kMaxFrameBytes)) {
    unsent_.resize(before);
    return Status(ErrorCode::FRAME_TOO_LARGE,
                  fmt::format("the message has {} bytes, at most {} are possible", bytes, kMaxFrameBytes),
                  "shorten the statement or its parameters");
  }
  return Ok();
}

Status Wire::Flush() {
  while (wants_write()) {
    ssize_t count = send(socket_.get(), unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Ok();
    if (count < 0) return Lost(strerror(errno));
    sent_ += static_cast<size_t>(count);
  }
  unsent_.clear();
  sent_ = 0;
  return Ok();
}

Status Wire::Read() {
  std::array<char, kReadBytes> buffer;
  for (int i = 0; i < kReadsPerExchange; ++i) {
    ssize_t count = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Ok();
    if (count < 0) return Lost(strerror(errno));
    if (count == 0) return Lost("it was closed");
    reader_.Feed({buffer.data(), static_cast<size_t>(count)});
    if (static_cast<size_t>(count) < buffer.size()) return Ok();
  }
  return Ok();
}

Status Wire::Exchange() {
  Status written = Flush();
  Status read = Read();  // what the daemon said before it went explains a failed write
  return read.ok() ? written : read;
}

void Wire::Disconnect() {
  shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace traind::capi
