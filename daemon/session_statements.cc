// How a session's statements run: queued, on a pool thread, its result sent, then waiting, following or in a
// worker.
#include <fmt/format.h>

#include <utility>

#include "daemon/reply.h"
#include "daemon/session.h"
#include "daemon/session_request.h"
#include "daemon/supervisor/supervisor.h"
#include "engine/base/frame.h"

namespace traind::daemon {
namespace {

// Progress messages are left out while this much is unsent.
constexpr size_t kProgressWaterBytes = 65536;

Status Interrupted() {
  return {ErrorCode::INTERRUPTED, "the statement was interrupted"};
}

const Reply* ReplyOf(const Outcome& outcome) {
  if (const auto* wait = std::get_if<WaitOutcome>(&outcome)) return &wait->reply;
  if (const auto* follow = std::get_if<FollowOutcome>(&outcome)) return &follow->reply;
  return std::get_if<Reply>(&outcome);
}

}  // namespace

Status Session::StartExecute(int64_t id, const Json& message) {
  if (services_->leaving()) {
    return {ErrorCode::SHUTTING_DOWN, "this daemon is leaving and takes no new statements",
            "try again: the next daemon takes over"};
  }
  if (static_cast<int64_t>(requests_.size()) >= kMaxRequestsInFlight) return TooManyRequests();
  auto request = std::make_shared<Request>();
  request->id = id;
  TRAIND_ASSIGN(request->statement, StatementRequestFromJson(id, message));
  requests_[id] = request;
  queue_.push_back(std::move(request));
  RunNext();
  return Ok();
}

void Session::RunNext() {
  if (running_ || queue_.empty() || closing_) return;
  running_ = std::move(queue_.front());
  queue_.pop_front();
  running_->phase = Request::Phase::kRunning;
  running_->ticket = services_->pool->Submit(
      [request = running_, session = state_, daemon = services_->daemon](Reader& reader) {
        if (request->cancelled) {
          request->result = Interrupted();
        } else {
          request->result = Dispatch(request->statement, session, *daemon, reader);
        }
      },
      [weak = weak_from_this(), request = running_] {
        const auto self = weak.lock();
        if (self && !self->closing_) self->Ran(request);
      });
}

void Session::Ran(const RequestPtr& request) {
  if (!request->result->ok()) {
    FinishRequest(request, request->result->status());
    return;
  }
  Dispatched& dispatched = **request->result;
  request->kind = dispatched.kind;
  request->rows = dispatched.rows;
  AdoptSession(request);
  if (const Reply* reply = ReplyOf(dispatched.outcome); reply != nullptr && reply->columns.empty()) {
    request->notices = reply->notices;
  }
  request->phase = Request::Phase::kSending;
  QueueFrames(request, std::move(dispatched.frames));
}

// Takes over what SET, RESET and LET changed.
void Session::AdoptSession(const RequestPtr& request) {
  const Reply* reply = ReplyOf((**request->result).outcome);
  if (reply != nullptr && reply->session) state_ = *reply->session;
}

void Session::FramesSent(const RequestPtr& request) {
  if (request->phase == Request::Phase::kFollowing) {
    request->follow->Continue();
  } else if (request->phase == Request::Phase::kSending) {
    Continue(request);
  }
}

// The reply's rows are on their way; what comes after them depends on the outcome.
void Session::Continue(const RequestPtr& request) {
  Outcome outcome = std::move((**request->result).outcome);
  if (std::holds_alternative<Reply>(outcome)) {
    FinishRequest(request, Ok());
    return;
  }
  if (request->cancelled) {
    FinishRequest(request, Interrupted());
    return;
  }
  if (auto* wait = std::get_if<WaitOutcome>(&outcome)) {
    BeginWait(request, *wait);
  } else if (auto* follow = std::get_if<FollowOutcome>(&outcome)) {
    BeginFollow(request, std::move(*follow));
  } else {
    BeginWorker(request, std::move(std::get<WorkerOutcome>(outcome)));
  }
  running_.reset();
  RunNext();
}

void Session::BeginWait(const RequestPtr& request, const WaitOutcome& outcome) {
  services_->supervisor->OpenAdmission();
  request->phase = Request::Phase::kWaiting;
  Wait::Options options;
  options.jobs = outcome.jobs;
  options.timeout_seconds = outcome.timeout_seconds;
  options.progress = request->statement.progress;
  options.stop_on_paused = request->statement.stop_on_paused;
  const std::weak_ptr<Request> weak_request = request;
  request->wait = std::make_unique<Wait>(
      services_->loop, services_->pool, services_->hub, std::move(options),
      [this, id = request->id](Json progress) {
        if (channel_->unsent_bytes() > kProgressWaterBytes) return;
        SendDirect(Json{{"id", id}, {"progress", std::move(progress)}});
      },
      [this, weak_request](const Status& status) {
        if (const auto waiting = weak_request.lock()) FinishRequest(waiting, status);
      });
}

void Session::BeginFollow(const RequestPtr& request, FollowOutcome outcome) {
  request->phase = Request::Phase::kFollowing;
  const std::weak_ptr<Request> weak_request = request;
  request->follow = std::make_unique<Follow>(
      services_->loop, services_->pool, services_->hub, request->id, std::move(outcome),
      [this, weak_request](std::deque<std::string> frames, int64_t rows) {
        const auto following = weak_request.lock();
        if (!following) return false;
        following->rows += rows;
        QueueFrames(following, std::move(frames));
        return following->frames.empty();
      },
      [this, weak_request](const Status& status) {
        if (const auto following = weak_request.lock()) FinishRequest(following, status);
      });
}

void Session::BeginWorker(const RequestPtr& request, WorkerOutcome outcome) {
  request->phase = Request::Phase::kWorker;
  Json task = std::move(outcome.task);
  request->worker = std::move(outcome);
  request->worker_run = services_->supervisor->RunTask(
      std::move(task),
      [weak = weak_from_this(), request](const Json& message) {
        const auto self = weak.lock();
        if (self && !self->closing_ && request->statement.progress)
          self->SendWorkerProgress(request, message);
      },
      [weak = weak_from_this(), request, pool = services_->pool](const Result<Json>& result) {
        if (!result.ok() && request->worker.undo) {
          pool->Submit([undo = request->worker.undo](Reader&) { undo(); }, nullptr);
        }
        const auto self = weak.lock();
        if (self && !self->closing_ && self->requests_.contains(request->id))
          self->WorkerDone(request, result);
      });
}

void Session::SendWorkerProgress(const RequestPtr& request, const Json& message) {
  if (channel_->unsent_bytes() > kProgressWaterBytes) return;
  Json progress = {{"job", 0}, {"state", request->kind}};
  const auto text = GetStringOr(message, "text", "");
  const auto done = GetIntOr(message, "done_bytes", 0);
  const auto total = GetIntOr(message, "total_bytes", 0);
  if (!text.ok() || !done.ok() || !total.ok()) return;
  if (!text->empty()) progress["text"] = *text;
  if (*total > 0) progress["preparing"] = {*done, *total};
  SendDirect(Json{{"id", request->id}, {"progress", std::move(progress)}});
}

// Takes over what the worker made; it is not interrupted any more.
void Session::Conclude(const RequestPtr& request, const Json& result) {
  request->phase = Request::Phase::kConcluding;
  auto reply = std::make_shared<std::optional<Result<Reply>>>();
  auto frames = std::make_shared<Result<std::deque<std::string>>>(std::deque<std::string>());
  services_->pool->Submit(
      [request, result, reply, frames](Reader&) {
        *reply = request->worker.conclude(result);
        if ((*reply)->ok()) *frames = EncodeReply(request->id, request->kind, ***reply);
      },
      [weak = weak_from_this(), request, reply, frames] {
        const auto self = weak.lock();
        if (!self || self->closing_) return;
        if (!(*reply)->ok() || !frames->ok()) {
          self->FinishRequest(request, (*reply)->ok() ? frames->status() : (*reply)->status());
          return;
        }
        request->rows = std::ssize((***reply).rows);
        if ((***reply).columns.empty()) request->notices = (***reply).notices;
        if ((***reply).session) self->state_ = *(***reply).session;
        for (std::string& frame : **frames) self->SendEncoded(std::move(frame));
        self->FinishRequest(request, Ok());
      });
}

void Session::WorkerDone(const RequestPtr& request, const Result<Json>& result) {
  if (!result.ok()) {
    FinishRequest(request, result.status());
    return;
  }
  if (request->worker.conclude) {
    Conclude(request, *result);
    return;
  }
  const auto columns = result->find("columns");
  const auto rows = result->find("rows");
  if (columns == result->end() || rows == result->end() || !columns->is_array() || !rows->is_array()) {
    FinishRequest(request, Status(ErrorCode::INTERNAL, "the worker's result has no columns or rows"));
    return;
  }
  request->rows = static_cast<int64_t>(rows->size());
  const auto notices = result->find("notices");
  SendDirect(Json{{"id", request->id},
                  {"columns", *columns},
                  {"kind", request->kind},
                  {"notices", notices == result->end() ? Json::array() : *notices}});
  SendDirect(Json{{"id", request->id}, {"rows", *rows}});
  FinishRequest(request, Ok());
}

Status Session::Interrupt(int64_t id, const Json& message) {
  TRAIND_ASSIGN(const int64_t target, GetInt(message, "target"));
  SendDirect(OkMessage(id, Json::object()));
  const auto found = requests_.find(target);
  if (found != requests_.end()) InterruptRequest(RequestPtr(found->second));
  return Ok();
}

void Session::InterruptRequest(const RequestPtr& request) {
  request->cancelled = true;
  switch (request->phase) {
    case Request::Phase::kParsing:
    case Request::Phase::kConcluding:
      return;  // answered in a moment
    case Request::Phase::kRunning:
      services_->pool->Interrupt(request->ticket);
      return;
    case Request::Phase::kWorker:
      services_->supervisor->CancelTask(request->worker_run);
      break;
    case Request::Phase::kQueued:
      std::erase(queue_, request);
      break;
    case Request::Phase::kSending:
    case Request::Phase::kWaiting:
    case Request::Phase::kFollowing:
      break;
  }
  FinishRequest(request, Interrupted());
}

void Session::EndWaiting(const Status& status) {
  if (closing_) return;
  queue_.clear();
  std::vector<RequestPtr> ended;
  for (const auto& [id, request] : requests_) {
    const bool waits = request->phase == Request::Phase::kQueued ||
                       request->phase == Request::Phase::kWaiting ||
                       request->phase == Request::Phase::kFollowing;
    if (waits) ended.push_back(request);
  }
  for (const RequestPtr& request : ended) FinishRequest(request, status);
}

// Sends the last message of a request and forgets it.
void Session::FinishRequest(const RequestPtr& request, const Status& status) {
  const RequestPtr finished = request;  // the caller's reference may be in what is erased here
  std::erase(sending_, finished);
  requests_.erase(finished->id);
  SendDirect(status.ok() ? DoneMessage(finished->id, finished->kind, finished->rows, finished->notices)
                         : ErrorMessage(finished->id, status));
  if (running_ != finished) return;
  running_.reset();
  RunNext();
}

}  // namespace traind::daemon
