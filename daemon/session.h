// One client: its requests, their order, what is owed to it. On the loop.
//
// Statements of a session run one after the other, on pool threads; a wait, a follow and a worker's run don't
// hold up the next. Results are sent as the socket drains; events wait in a bounded queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/channel.h"
#include "daemon/dispatch.h"
#include "daemon/pool.h"
#include "daemon/statement.h"
#include "daemon/stream/event_queue.h"
#include "daemon/stream/follow.h"
#include "daemon/stream/hub.h"
#include "daemon/stream/wait.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

class Supervisor;

inline constexpr int64_t kProtocolVersion = 1;

// What sessions use of the daemon.
struct Services {
  Loop* loop = nullptr;
  Pool* pool = nullptr;
  Hub* hub = nullptr;
  Supervisor* supervisor = nullptr;
  const DaemonState* daemon = nullptr;
  // Stops live jobs with a checkpoint, then calls `stopped` with [{"job":1,"step":n}…], then leaves.
  std::function<void(std::function<void(Json stopped)>)> shut_down;
  std::function<Json()> status;  // the reply of the protocol's "status"
  std::function<bool()> leaving;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  // `closed` is called once, when the client is gone or was cut off; it drops the session.
  static std::shared_ptr<Session> Open(const Services* services, int descriptor, bool embedded,
                                       std::function<void()> closed);
  ~Session();

  // Sends a connection-level error and closes.
  void Refuse(const Status& status);

  // The daemon is leaving: ends what waits, follows or has not begun with this error.
  void EndWaiting(const Status& status);

  bool said_hello() const { return said_hello_; }
  size_t unsent_bytes() const { return channel_->unsent_bytes(); }

 private:
  struct Request;
  using RequestPtr = std::shared_ptr<Request>;
  using TextWork = std::function<Result<Json>(const std::string& text, Reader& reader)>;

  Session(const Services* services, bool embedded, std::function<void()> closed);

  // What comes in.
  void Attach(int descriptor);
  void Received(const Json& message);
  void Ended(const Status& reason);
  Status Handle(int64_t id, const std::string& op, const Json& message);
  Status Hello(int64_t id, const Json& message);
  Status Parse(int64_t id, const Json& message);
  Status Lex(int64_t id, const Json& message);
  Status Complete(int64_t id, const Json& message);
  Status AnswerFromPool(int64_t id, const Json& message, TextWork work);
  Status StartExecute(int64_t id, const Json& message);
  Status Interrupt(int64_t id, const Json& message);
  Status Subscribe(int64_t id, const Json& message);
  Status Unsubscribe(int64_t id, const Json& message);
  Status ReportStatus(int64_t id, const Json& message);
  Status Shutdown(int64_t id, const Json& message);
  Status TooManyRequests() const;

  // A statement's way.
  void RunNext();
  void Ran(const RequestPtr& request);
  void AdoptSession(const RequestPtr& request);
  void FramesSent(const RequestPtr& request);
  void Continue(const RequestPtr& request);
  void BeginWait(const RequestPtr& request, const WaitOutcome& outcome);
  void BeginFollow(const RequestPtr& request, FollowOutcome outcome);
  void BeginWorker(const RequestPtr& request, WorkerOutcome outcome);
  void SendWorkerProgress(const RequestPtr& request, const Json& message);
  void WorkerDone(const RequestPtr& request, const Result<Json>& result);
  void Conclude(const RequestPtr& request, const Json& result);
  void InterruptRequest(const RequestPtr& request);
  void FinishRequest(const RequestPtr& request, const Status& status);

  // What goes out.
  void SendDirect(const Json& message);
  void SendEncoded(std::string frame);
  void QueueEvent(int64_t subscription, const std::string& event, bool droppable);
  void QueueFrames(const RequestPtr& request, std::deque<std::string> frames);
  void Pump();
  void Close();

  const Services* const services_;
  std::function<void()> closed_;
  std::unique_ptr<Channel> channel_;
  SessionState state_;
  bool said_hello_ = false;
  bool closing_ = false;

  std::map<int64_t, RequestPtr> requests_;    // unanswered
  std::deque<RequestPtr> queue_;              // statements that have not begun
  RequestPtr running_;                        // the statement that runs, or whose result is being sent
  std::deque<RequestPtr> sending_;            // requests with frames to send, in order
  std::map<int64_t, int64_t> subscriptions_;  // request id → the hub's handle
  EventQueue events_{kMaxSubscriberBytes};
};

}  // namespace traind::daemon
