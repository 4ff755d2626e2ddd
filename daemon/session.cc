// A client's messages, and what is sent to it. The way of statements is in session_statements.cc.
#include "daemon/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "daemon/editing.h"
#include "daemon/reply.h"
#include "daemon/session_request.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/version.h"
#include "engine/base/frame.h"
#include "engine/base/log.h"

namespace traind::daemon {
namespace {

// Results and events are handed to the socket while less than this is unsent.
constexpr size_t kLowWaterBytes = 262144;
// A client that does not read its replies is not read from beyond this.
constexpr size_t kHighWaterBytes = 1048576;
constexpr size_t kEventBatchBytes = 65536;
constexpr int64_t kRefusalFlushMs = 2000;

}  // namespace

Session::Session(const Services* services, bool embedded, std::function<void()> closed)
    : services_(services), closed_(std::move(closed)) {
  state_.embedded = embedded;
}

Session::~Session() = default;

std::shared_ptr<Session> Session::Open(const Services* services, int descriptor, bool embedded,
                                       std::function<void()> closed) {
  std::shared_ptr<Session> session(new Session(services, embedded, std::move(closed)));
  session->Attach(descriptor);
  return session;
}

void Session::Attach(int descriptor) {
  Channel::Handlers handlers;
  handlers.message = [weak = weak_from_this()](const Json& message) {
    if (const auto self = weak.lock()) self->Received(message);
  };
  handlers.ended = [weak = weak_from_this()](const Status& reason) {
    if (const auto self = weak.lock()) self->Ended(reason);
  };
  handlers.drained = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Pump();
  };
  channel_ = std::make_unique<Channel>(services_->loop, descriptor, kMaxFrameBytes, std::move(handlers));
}

void Session::Received(const Json& message) {
  if (closing_) return;
  const Result<int64_t> id = GetInt(message, "id");
  const Result<std::string> op = GetString(message, "op");
  if (!id.ok() || !op.ok()) {
    Refuse(id.ok() ? op.status() : id.status());
    return;
  }
  if (!said_hello_ && *op != "hello") {
    Refuse(
        Status(ErrorCode::MALFORMED_FRAME, fmt::format("the first message must be hello, not \"{}\"", *op)));
    return;
  }
  if (requests_.contains(*id)) {
    Refuse(Status(ErrorCode::MALFORMED_FRAME, fmt::format("request {} has not been answered yet", *id),
                  "give each request an id of its own"));
    return;
  }
  const Status handled = Handle(*id, *op, message);
  if (handled.ok()) return;
  SendDirect(ErrorMessage(*id, handled));
  if (!said_hello_) Refuse(handled);
}

Status Session::Handle(int64_t id, const std::string& op, const Json& message) {
  struct Operation {
    std::string_view name;
    Status (Session::*handler)(int64_t, const Json&);
  };
  static constexpr Operation kOperations[] = {
      {"hello", &Session::Hello},
      {"parse", &Session::Parse},
      {"lex", &Session::Lex},
      {"complete", &Session::Complete},
      {"execute", &Session::StartExecute},
      {"interrupt", &Session::Interrupt},
      {"subscribe", &Session::Subscribe},
      {"unsubscribe", &Session::Unsubscribe},
      {"status", &Session::ReportStatus},
      {"shutdown", &Session::Shutdown},
  };
  std::string known;
  for (const Operation& operation : kOperations) {
    if (operation.name == op) return (this->*operation.handler)(id, message);
    known += known.empty() ? "" : ", ";
    known += operation.name;
  }
  return {ErrorCode::MALFORMED_FRAME, fmt::format("no operation \"{}\"", op.substr(0, 64)),
          "this daemon knows " + known};
}

Status Session::Hello(int64_t id, const Json& message) {
  if (said_hello_) return {ErrorCode::MALFORMED_FRAME, "hello is said once"};
  TRAIND_ASSIGN(const int64_t protocol, GetInt(message, "protocol"));
  if (protocol != kProtocolVersion) {
    return {ErrorCode::PROTOCOL_MISMATCH,
            fmt::format("the client speaks protocol {}, this daemon (traind {}, process {}) protocol {}",
                        protocol, kVersion, getpid(), kProtocolVersion),
            "use programs of one release; stop an old daemon with kill, it is started again when needed"};
  }
  TRAIND_ASSIGN(state_.directory, GetStringOr(message, "directory", "/"));
  const std::string& directory = state_.directory;
  if (!directory.starts_with('/') || static_cast<int64_t>(directory.size()) > kMaxPathBytes ||
      directory.find('\0') != std::string::npos) {
    return {ErrorCode::MALFORMED_FRAME, "\"directory\" must be an absolute path"};
  }
  said_hello_ = true;
  SendDirect(OkMessage(id, Json{{"protocol", kProtocolVersion},
                                {"version", kVersion},
                                {"pid", getpid()},
                                {"state_directory", services_->daemon->state_directory},
                                {"embedded", state_.embedded}}));
  return Ok();
}

Status Session::Parse(int64_t id, const Json& message) {
  return AnswerFromPool(id, message, [](const std::string& text, Reader&) { return ParseScript(text); });
}

Status Session::Lex(int64_t id, const Json& message) {
  return AnswerFromPool(id, message, [](const std::string& text, Reader&) { return LexText(text); });
}

Status Session::Complete(int64_t id, const Json& message) {
  return AnswerFromPool(id, message, CompleteText);
}

// Answers with what `work` makes of the message's text, on a pool thread.
Status Session::AnswerFromPool(int64_t id, const Json& message, TextWork work) {
  if (static_cast<int64_t>(requests_.size()) >= kMaxRequestsInFlight) return TooManyRequests();
  TRAIND_ASSIGN(std::string text, GetString(message, "text"));
  auto request = std::make_shared<Request>();
  request->id = id;
  request->phase = Request::Phase::kParsing;
  requests_[id] = request;
  auto frame = std::make_shared<std::string>();
  services_->pool->Submit(
      [id, text = std::move(text), work = std::move(work), frame](Reader& reader) {
        const Result<Json> answer = work(text, reader);
        AppendFrame(answer.ok() ? OkMessage(id, *answer) : ErrorMessage(id, answer.status()), frame.get());
        if (static_cast<int64_t>(frame->size()) <= kMaxReplyFrameBytes) return;
        frame->clear();
        AppendFrame(ErrorMessage(id, Status(ErrorCode::STATEMENT_TOO_LONG,
                                            "the script has too many statements or tokens",
                                            "split it into several scripts")),
                    frame.get());
      },
      [weak = weak_from_this(), id, frame] {
        const auto self = weak.lock();
        if (!self || self->closing_) return;
        self->requests_.erase(id);
        self->SendEncoded(std::move(*frame));
      });
  return Ok();
}

Status Session::Subscribe(int64_t id, const Json& message) {
  if (subscriptions_.contains(id))
    return {ErrorCode::MALFORMED_FRAME, fmt::format("subscription {} exists", id)};
  if (static_cast<int64_t>(subscriptions_.size()) >= kMaxRequestsInFlight) {
    return {ErrorCode::TOO_MANY,
            fmt::format("{} subscriptions of one client is the limit", kMaxRequestsInFlight)};
  }
  std::optional<int64_t> job;
  if (message.contains("job") && !message["job"].is_null()) {
    TRAIND_ASSIGN(job, GetInt(message, "job"));
  }
  unsigned kinds = kAllEventKinds;
  if (const auto names = message.find("kinds"); names != message.end()) {
    if (!names->is_array()) return {ErrorCode::MALFORMED_FRAME, "\"kinds\" must be an array of names"};
    kinds = 0;
    for (const Json& name : *names) {
      const auto kind = name.is_string() ? ParseEventKind(name.get<std::string>()) : std::nullopt;
      if (!kind) {
        return {ErrorCode::MALFORMED_FRAME, fmt::format("no kind of event {}", DumpJson(name).substr(0, 64)),
                "the kinds are state, metric, log, budget"};
      }
      kinds |= static_cast<unsigned>(*kind);
    }
  }
  subscriptions_[id] = services_->hub->Subscribe(
      job, kinds,
      [weak = weak_from_this(), id](const std::string& event, bool droppable) {
        if (const auto self = weak.lock()) self->QueueEvent(id, event, droppable);
      },
      [weak = weak_from_this(), id] {
        if (const auto self = weak.lock()) self->SendDirect(OkMessage(id, Json::object()));
      });
  return Ok();
}

Status Session::Unsubscribe(int64_t id, const Json& message) {
  TRAIND_ASSIGN(const int64_t target, GetInt(message, "target"));
  const auto found = subscriptions_.find(target);
  if (found != subscriptions_.end()) {
    services_->hub->Unsubscribe(found->second);
    subscriptions_.erase(found);
  }
  SendDirect(OkMessage(id, Json::object()));
  return Ok();
}

Status Session::ReportStatus(int64_t id, const Json&) {
  SendDirect(OkMessage(id, services_->status()));
  return Ok();
}

Status Session::Shutdown(int64_t id, const Json&) {
  if (!state_.embedded) {
    return {ErrorCode::MISUSE, "shutdown is for a private daemon, this one may serve others",
            fmt::format("stop it with: kill {}", getpid())};
  }
  services_->shut_down([weak = weak_from_this(), id](Json stopped) {
    if (const auto self = weak.lock()) {
      self->SendDirect(OkMessage(id, Json{{"stopped", std::move(stopped)}}));
    }
  });
  return Ok();
}

Status Session::TooManyRequests() const {
  return {ErrorCode::TOO_MANY,
          fmt::format("{} requests of this client are unanswered; that is the limit", kMaxRequestsInFlight),
          "wait for replies before sending more"};
}

void Session::SendDirect(const Json& message) {
  std::string frame;
  AppendFrame(message, &frame);
  SendEncoded(std::move(frame));
}

void Session::SendEncoded(std::string frame) {
  channel_->SendEncoded(std::move(frame));
  if (channel_->unsent_bytes() > kHighWaterBytes) channel_->PauseReading();
}

void Session::QueueEvent(int64_t subscription, const std::string& event, bool droppable) {
  if (closing_) return;
  std::string frame = FrameOfText(
      fmt::format("{{\"event\":{{\"subscription\":{},{}}}", subscription, std::string_view(event).substr(1)));
  if (!events_.Push(std::move(frame), droppable)) {
    Refuse(Status(
        ErrorCode::SLOW_READER,
        fmt::format("{} bytes of events were waiting to be read; that is the limit", kMaxSubscriberBytes),
        "read events as they come, or subscribe to fewer"));
    return;
  }
  Pump();
}

void Session::QueueFrames(const RequestPtr& request, std::deque<std::string> frames) {
  request->frames = std::move(frames);
  sending_.push_back(request);
  Pump();
}

// Hands events and results to the socket in turns, as far as it takes them.
void Session::Pump() {
  while (!closing_ && channel_->unsent_bytes() < kLowWaterBytes) {
    if (events_.empty() && sending_.empty()) break;
    if (!events_.empty()) channel_->SendEncoded(events_.Take(kEventBatchBytes));
    if (sending_.empty()) continue;
    const RequestPtr request = sending_.front();
    if (!request->frames.empty()) {
      channel_->SendEncoded(std::move(request->frames.front()));
      request->frames.pop_front();
    }
    if (request->frames.empty()) {
      sending_.pop_front();
      FramesSent(request);
    }
  }
  if (!closing_ && channel_->unsent_bytes() < kLowWaterBytes) channel_->ResumeReading();
}

void Session::Refuse(const Status& status) {
  if (closing_) return;
  closing_ = true;
  events_.Clear();
  SendDirect(ErrorMessage(std::nullopt, status));
  Log(LogLevel::kWarning, "a client is cut off: {}", status.ToString());
  channel_->Finish(kRefusalFlushMs, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Close();
  });
}

void Session::Ended(const Status& reason) {
  if (closing_) return;
  if (!reason.ok() && reason.code() != ErrorCode::IO) {
    Refuse(reason);  // what it sent was no frame; it may still read why
    return;
  }
  Close();
}

void Session::Close() {
  closing_ = true;
  for (const auto& [id, request] : requests_) {
    request->cancelled = true;
    if (request->phase == Request::Phase::kRunning) services_->pool->Interrupt(request->ticket);
    if (request->phase == Request::Phase::kWorker) services_->supervisor->CancelTask(request->worker_run);
  }
  for (const auto& [id, handle] : subscriptions_) services_->hub->Unsubscribe(handle);
  subscriptions_.clear();
  requests_.clear();
  queue_.clear();
  sending_.clear();
  running_.reset();
  if (closed_) std::exchange(closed_, nullptr)();
}

}  // namespace traind::daemon
