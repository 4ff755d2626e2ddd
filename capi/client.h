// The client's half of the protocol: requests in flight, what comes back for each, and events.
//
// One thread at a time. Nothing here blocks but Pump with a timeout and Call.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/wire.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::capi {

struct ColumnInfo {
  std::string name;
  std::string type;
};

// An executed statement's reply, as it arrives.
struct Execution {
  int64_t id = 0;
  std::vector<ColumnInfo> columns;
  std::deque<Json> batches;  // arrays of rows, none empty
  std::vector<std::string> notices;
  bool interrupted = false;
  bool finished = false;
  Status error;  // when finished
};

struct Event {
  std::string kind;  // "progress", or the subscription's
  int64_t job = 0;
  int64_t subscription = 0;
  Json body;
};

// How long Pump may wait.
inline constexpr int kNoWait = 0;
inline constexpr int kNoLimit = -1;

class Client {
 public:
  // Takes a connected socket. IO if the descriptors it needs cannot be made.
  static Result<std::unique_ptr<Client>> Make(Descriptor socket);

  int poll_descriptor() const { return epoll_.get(); }
  int wake_descriptor() const { return wake_.get(); }

  // Sends a request (its id is added) and waits for its "ok", at most `timeout_ms`: DAEMON_UNREACHABLE then.
  // The daemon's error, DAEMON_LOST, or INTERRUPTED if the wake descriptor is written to meanwhile.
  // `id`, if not null, is set to the request's.
  Result<Json> Call(Json request, int timeout_ms = kNoLimit, int64_t* id = nullptr);

  // Sends an execute request and gives the place where its reply arrives.
  Result<std::shared_ptr<Execution>> Start(Json request);
  // Asks the daemon to interrupt it; its end still arrives.
  void Interrupt(Execution* execution);
  // Interrupts it if it runs; the rest of its reply is thrown away.
  void Abandon(const std::shared_ptr<Execution>& execution);

  // One round of waiting (`timeout_ms`) and of sending and receiving. Passes an interrupt on to all that
  // runs. The reason once the connection is lost. True if an interrupt was seen.
  Result<bool> Pump(int timeout_ms);

  std::optional<Event> NextEvent();

  // Ends the connection for the daemon too; a private one then leaves.
  void Disconnect() { wire_.Disconnect(); }

  const Status& lost() const { return lost_; }
  // What is added to the hint of DAEMON_LOST.
  void set_lost_hint(std::string hint) { lost_hint_ = std::move(hint); }

 private:
  explicit Client(Descriptor socket) : wire_(std::move(socket)) {}

  Status Send(Json request, int64_t* id);
  bool TakeInterrupt();
  Status Exchange();
  Status Dispatch(const Json& message);
  Status DispatchExecution(const Json& message, Execution* execution);
  Status TakeColumns(const Json& message, Execution* execution);
  Status TakeEvent(const Json& event);
  void TakeProgress(const Json& progress);
  void QueueEvent(Event event);
  void Lose(Status reason);
  void WatchSocket();

  Wire wire_;
  Descriptor epoll_;
  Descriptor wake_;
  bool watches_write_ = false;
  int64_t next_id_ = 1;
  std::map<int64_t, std::shared_ptr<Execution>> executions_;
  std::map<int64_t, std::optional<Result<Json>>> calls_;
  std::deque<Event> events_;
  Status lost_;
  std::string lost_hint_;
};

}  // namespace traind::capi
