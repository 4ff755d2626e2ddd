// A daemon of the bench's own, on a state directory that goes with it, and clients of it that block.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "engine/base/descriptor.h"
#include "engine/base/frame.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::bench {

class BenchClient {
 public:
  // Connects and says hello.
  static Result<std::unique_ptr<BenchClient>> Connect(const std::string& socket_path);

  // Sends a request and waits for its last message, whose error is the status. Rows and progress are dropped;
  // metric events are counted for NextMetric.
  Result<Json> Call(Json request);
  Status Execute(const std::string& text);
  // Waits for the next metric event.
  Status NextMetric();

 private:
  explicit BenchClient(Descriptor connection) : connection_(std::move(connection)) {}
  Status Send(const Json& message);
  Result<Json> Receive();

  Descriptor connection_;
  FrameReader frames_{kMaxReplyFrameBytes};
  int64_t last_id_ = 0;
  int64_t metrics_ = 0;  // events received and not yet waited for
};

class PrivateDaemon {
 public:
  // Starts traind beside this program, or in $TRAIND_BIN, and waits until it answers.
  static Result<std::unique_ptr<PrivateDaemon>> Start();
  ~PrivateDaemon();  // stops it and removes its directory
  PrivateDaemon(const PrivateDaemon&) = delete;
  PrivateDaemon& operator=(const PrivateDaemon&) = delete;

  Result<std::unique_ptr<BenchClient>> Connect() const;
  // From the start of the process to the first answer.
  double ready_seconds() const { return ready_seconds_; }

 private:
  PrivateDaemon() = default;

  std::string directory_;
  pid_t pid_ = 0;
  double ready_seconds_ = 0;
};

// Makes the data set d of an English text that every Debian has, and the small model m.
Status SetUp(BenchClient* client);

}  // namespace traind::bench
