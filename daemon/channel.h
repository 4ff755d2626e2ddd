// Frames over a connected socket, on the loop: a client's connection, or the control socket of a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/loop.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

class Channel {
 public:
  struct Handlers {
    std::function<void(Json message)> message;
    // Once, when the peer is gone (OK), or has broken the protocol or the connection (an error). Nothing is
    // called afterwards. The channel can still be written to if the error is of its stream's content.
    std::function<void(Status reason)> ended;
    // The last byte given to Send has been written.
    std::function<void()> drained;
  };

  // Takes the descriptor. Handlers may destroy the channel.
  Channel(Loop* loop, int descriptor, int64_t max_frame_bytes, Handlers handlers);
  ~Channel();  // closes; unsent bytes are lost
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Queues a message; never blocks, never fails here (a broken connection is reported by `ended`).
  void Send(const Json& message);
  // The same with frames that are already encoded.
  void SendEncoded(std::string frames);
  size_t unsent_bytes() const;

  // While paused nothing is read; the kernel's buffer then stops the peer.
  void PauseReading();
  void ResumeReading();

  // Stops reading for good, and calls `closed` when all is written or `timeout_ms` has passed.
  void Finish(int64_t timeout_ms, std::function<void()> closed);

 private:
  struct State;
  std::shared_ptr<State> state_;  // lives on until libuv has let go of it
};

}  // namespace traind::daemon
