// One end of a connection: whole messages over a non-blocking socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/descriptor.h"
#include "engine/base/frame.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::capi {

// Not thread-safe. Never blocks, raises no SIGPIPE.
class Wire {
 public:
  // Takes the socket and makes it non-blocking.
  explicit Wire(Descriptor socket);

  int socket() const { return socket_.get(); }
  bool wants_write() const { return sent_ < unsent_.size(); }

  // Queues a message. FRAME_TOO_LARGE if it is longer than the daemon accepts; nothing is queued then.
  Status Queue(const Json& message);

  // Writes what the socket takes now.
  Status Flush();

  // The same, and reads what it holds now. DAEMON_LOST at its end; messages that came before it can still be
  // taken with Next.
  Status Exchange();

  // Ends the connection for the other side too.
  void Disconnect();

  // The next whole message, nullopt if none is there.
  Result<std::optional<Json>> Next() { return reader_.Next(); }

 private:
  Status Read();

  Descriptor socket_;
  FrameReader reader_{kMaxReplyFrameBytes};
  std::string unsent_;
  size_t sent_ = 0;
};

}  // namespace traind::capi
