// Every message is dispatched by its id to what waits for it; a message that fits nothing breaks the
// connection only if it cannot be understood at all.
#include "capi/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace traind::capi {
namespace {

constexpr size_t kMaxEvents = 65536;  // waiting for traind_next_event; older ones are dropped

Status MalformedReply(std::string_view what) {
  return Status(ErrorCode::MALFORMED_FRAME, fmt::format("the daemon's message is not understood: {}", what),
                "client and daemon may be of different versions");
}

const Json* Field(const Json& object, const char* key) {
  auto field = object.find(key);
  return field == object.end() ? nullptr : &*field;
}

void AppendStrings(const Json* list, std::vector<std::string>* out) {
  if (list == nullptr || !list->is_array()) return;
  for (const Json& item : *list) {
    if (const auto* text = item.get_ptr<const std::string*>()) out->push_back(*text);
  }
}

int64_t MonotonicMs() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch())
      .count();
}

// The Status of an "error" field; never OK.
Status ErrorOf(const Json& error) {
  Status status = StatusFromJson(error);
  return status.ok() ? MalformedReply("an error without a code") : status;
}

bool AllRowsFit(const Json& rows, size_t columns) {
  for (const Json& row : rows) {
    if (!row.is_array() || row.size() != columns) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Client>> Client::Make(Descriptor socket) {
  std::unique_ptr<Client> client(new Client(std::move(socket)));
  client->epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  client->wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event wake{EPOLLIN, {}}, readable{EPOLLIN, {}};
  if (!client->epoll_.valid() || !client->wake_.valid() ||
      epoll_ctl(client->epoll_.get(), EPOLL_CTL_ADD, client->wake_.get(), &wake) != 0 ||
      epoll_ctl(client->epoll_.get(), EPOLL_CTL_ADD, client->wire_.socket(), &readable) != 0) {
    return Status(ErrorCode::IO, fmt::format("cannot watch the connection: {}", strerror(errno)));
  }
  return client;
}

Status Client::Send(Json request, int64_t* id) {
  if (!lost_.ok()) return lost_;
  *id = next_id_++;
  request["id"] = *id;
  return wire_.Queue(request);
}

Result<Json> Client::Call(Json request, int timeout_ms, int64_t* given_id) {
  int64_t id = 0;
  TakeInterrupt();  // one that was meant for something earlier
  TRAIND_TRY(Send(std::move(request), &id));
  if (given_id != nullptr) *given_id = id;
  calls_[id] = std::nullopt;
  int64_t deadline = MonotonicMs() + timeout_ms;
  while (true) {
    int64_t left = deadline - MonotonicMs();
    if (timeout_ms >= 0 && left <= 0) {
      calls_.erase(id);
      return Status(ErrorCode::DAEMON_UNREACHABLE,
                    fmt::format("the daemon does not answer within {:.0f} s", timeout_ms / 1e3));
    }
    Result<bool> interrupted = Pump(timeout_ms < 0 ? kNoLimit : static_cast<int>(left));
    if (calls_[id].has_value()) break;
    if (!interrupted.ok() || *interrupted) {
      calls_.erase(id);
      if (!interrupted.ok()) return interrupted.status();
      return Status(ErrorCode::INTERRUPTED, "interrupted");
    }
  }
  Result<Json> reply = *std::move(calls_[id]);
  calls_.erase(id);
  return reply;
}

Result<std::shared_ptr<Execution>> Client::Start(Json request) {
  auto execution = std::make_shared<Execution>();
  if (executions_.empty()) TakeInterrupt();  // one that was meant for something earlier
  TRAIND_TRY(Send(std::move(request), &execution->id));
  executions_[execution->id] = execution;
  return execution;
}

void Client::Interrupt(Execution* execution) {
  if (execution->finished || execution->interrupted) return;
  execution->interrupted = true;
  int64_t id = 0;
  (void)Send({{"op", "interrupt"}, {"target", execution->id}}, &id);
}

void Client::Abandon(const std::shared_ptr<Execution>& execution) {
  if (execution->finished) return;
  Interrupt(execution.get());
  executions_.erase(execution->id);
  if (!Pump(kNoWait).ok()) return;  // sends it now: the caller may not come back soon
}

bool Client::TakeInterrupt() {
  uint64_t count = 0;
  return read(wake_.get(), &count, sizeof count) == sizeof count;
}

void Client::WatchSocket() {
  if (watches_write_ == wire_.wants_write()) return;
  watches_write_ = wire_.wants_write();
  epoll_event event{watches_write_ ? uint32_t{EPOLLIN | EPOLLOUT} : uint32_t{EPOLLIN}, {}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, wire_.socket(), &event);
}

Result<bool> Client::Pump(int timeout_ms) {
  if (!lost_.ok()) return lost_;
  (void)wire_.Flush();  // if it fails, reading tells why
  WatchSocket();
  if (timeout_ms != kNoWait) {
    pollfd entry{epoll_.get(), POLLIN, 0};
    poll(&entry, 1, timeout_ms);  // EINTR is one round without news
  }
  bool interrupted = TakeInterrupt();
  if (interrupted) {
    for (auto& [id, execution] : executions_) Interrupt(execution.get());
  }
  if (Status status = Exchange(); !status.ok()) {
    Lose(std::move(status));
    return lost_;
  }
  WatchSocket();
  return interrupted;
}

Status Client::Exchange() {
  Status exchanged = wire_.Exchange();
  while (true) {
    TRAIND_ASSIGN(std::optional<Json> message, wire_.Next());
    if (!message.has_value()) return exchanged;
    TRAIND_TRY(Dispatch(*message));
  }
}

Status Client::Dispatch(const Json& message) {
  if (const Json* event = Field(message, "event")) return TakeEvent(*event);
  const Json* error = Field(message, "error");
  const Json* id_field = Field(message, "id");
  if (id_field == nullptr || id_field->is_null()) {
    return error == nullptr ? MalformedReply("it has neither id nor event") : ErrorOf(*error);
  }
  TRAIND_ASSIGN(int64_t id, GetInt(message, "id"));
  if (auto execution = executions_.find(id); execution != executions_.end()) {
    std::shared_ptr<Execution> kept = execution->second;
    Status status = DispatchExecution(message, kept.get());
    if (kept->finished) executions_.erase(id);
    return status;
  }
  auto call = calls_.find(id);
  if (call == calls_.end()) return Ok();  // the answer to an interrupt, or to what was given up
  if (error != nullptr) {
    call->second = Result<Json>(ErrorOf(*error));
  } else if (const Json* ok = Field(message, "ok")) {
    call->second = Result<Json>(*ok);
  }
  return Ok();
}

Status Client::DispatchExecution(const Json& message, Execution* execution) {
  if (const Json* progress = Field(message, "progress")) {
    TakeProgress(*progress);
  } else if (Field(message, "columns") != nullptr) {
    return TakeColumns(message, execution);
  } else if (const Json* rows = Field(message, "rows")) {
    if (!rows->is_array() || !AllRowsFit(*rows, execution->columns.size())) {
      return MalformedReply("rows do not fit their columns");
    }
    if (!rows->empty()) execution->batches.push_back(*rows);
  } else if (const Json* done = Field(message, "done")) {
    if (done->is_object()) AppendStrings(Field(*done, "notices"), &execution->notices);
    execution->finished = true;
  } else if (const Json* error = Field(message, "error")) {
    execution->error = ErrorOf(*error);
    execution->finished = true;
  }
  return Ok();
}

Status Client::TakeColumns(const Json& message, Execution* execution) {
  const Json& columns = message["columns"];
  if (!columns.is_array() || !execution->columns.empty()) return MalformedReply("columns");
  for (const Json& column : columns) {
    TRAIND_ASSIGN(std::string name, GetString(column, "name"));
    TRAIND_ASSIGN(std::string type, GetString(column, "type"));
    execution->columns.push_back({std::move(name), std::move(type)});
  }
  AppendStrings(Field(message, "notices"), &execution->notices);
  return Ok();
}

void Client::TakeProgress(const Json& progress) {
  if (!progress.is_object()) return;
  Result<int64_t> job = GetIntOr(progress, "job", 0);
  QueueEvent({"progress", job.ok() ? *job : 0, 0, progress});
}

Status Client::TakeEvent(const Json& event) {
  TRAIND_ASSIGN(std::string kind, GetString(event, "kind"));
  TRAIND_ASSIGN(int64_t job, GetIntOr(event, "job", 0));
  TRAIND_ASSIGN(int64_t subscription, GetIntOr(event, "subscription", 0));
  QueueEvent({std::move(kind), job, subscription, event});
  return Ok();
}

void Client::QueueEvent(Event event) {
  if (event.kind == "progress") {
    std::erase_if(events_, [&](const Event& old) { return old.kind == "progress" && old.job == event.job; });
  }
  if (events_.size() >= kMaxEvents) events_.pop_front();
  events_.push_back(std::move(event));
}

std::optional<Event> Client::NextEvent() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void Client::Lose(Status reason) {
  std::string hint = reason.hint().empty() ? lost_hint_ : reason.hint();
  lost_ = Status(reason.code(), reason.message(), hint);
  Disconnect();
  for (auto& [id, execution] : executions_) {
    execution->error = lost_;
    execution->finished = true;
  }
  executions_.clear();
  for (auto& [id, reply] : calls_) {
    if (!reply.has_value()) reply = Result<Json>(lost_);
  }
}

}  // namespace traind::capi
