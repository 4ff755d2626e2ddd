// Reading, cutting and writing of frames on a libuv stream.
//
// At most one write is under way; what is sent meanwhile is gathered into the next one, so that many small
// messages cost few system calls.
#include "daemon/channel.h"

#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/frame.h"

namespace traind::daemon {

struct Channel::State {
  State(Loop* owner, int64_t max_frame_bytes) : loop(owner), frames(max_frame_bytes) {}

  void Read();
  void TakeFrames();
  void End(Status reason);
  void Write();
  void Written(int status);
  void Flushed();

  std::shared_ptr<State> self;  // reset by libuv's close callback
  Loop* loop;
  uv_pipe_t handle{};
  uv_write_t write{};
  FrameReader frames;
  Handlers handlers;
  std::array<char, 65536> buffer{};
  std::string writing;
  std::string waiting;
  std::function<void()> closed;
  std::unique_ptr<Timer> finish_timer;
  bool write_under_way = false;
  bool reading = false;
  bool paused = false;
  bool ended = false;
  bool dead = false;  // the owner is gone
};

Channel::Channel(Loop* loop, int descriptor, int64_t max_frame_bytes, Handlers handlers)
    : state_(std::make_shared<State>(loop, max_frame_bytes)) {
  state_->self = state_;
  state_->handlers = std::move(handlers);
  uv_pipe_init(loop->handle(), &state_->handle, 0);
  state_->handle.data = state_.get();
  state_->write.data = state_.get();
  const int opened = uv_pipe_open(&state_->handle, descriptor);
  if (opened != 0) {
    close(descriptor);
    state_->End(Status(ErrorCode::IO, std::string("the connection cannot be used: ") + uv_strerror(opened)));
    return;
  }
  state_->Read();
}

Channel::~Channel() {
  state_->dead = true;
  state_->ended = true;
  state_->finish_timer.reset();
  uv_close(reinterpret_cast<uv_handle_t*>(&state_->handle),
           [](uv_handle_t* handle) { static_cast<State*>(handle->data)->self.reset(); });
}

void Channel::State::Read() {
  if (reading || ended || paused) return;
  reading = true;
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&handle),
      [](uv_handle_t* stream, size_t, uv_buf_t* out) {
        auto* state = static_cast<State*>(stream->data);
        *out = uv_buf_init(state->buffer.data(), static_cast<unsigned>(state->buffer.size()));
      },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t* in) {
        auto* state = static_cast<State*>(stream->data);
        if (count == 0) return;
        if (count < 0) {
          state->End(count == UV_EOF || count == UV_ECONNRESET
                         ? Ok()
                         : Status(ErrorCode::IO, uv_strerror(static_cast<int>(count))));
          return;
        }
        state->frames.Feed(std::string_view(in->base, static_cast<size_t>(count)));
        state->TakeFrames();
      });
}

void Channel::State::TakeFrames() {
  while (!ended && !paused) {
    Result<std::optional<Json>> next = frames.Next();
    if (!next.ok()) {
      End(next.status());
      return;
    }
    if (!next->has_value()) return;
    handlers.message(std::move(**next));
  }
}

void Channel::State::End(Status reason) {
  if (ended) return;
  ended = true;
  if (reading) uv_read_stop(reinterpret_cast<uv_stream_t*>(&handle));
  // Posted, so that a constructor or Send never calls its owner back.
  loop->Post([state = self, reason = std::move(reason)] {
    if (!state->dead && state->handlers.ended) state->handlers.ended(reason);
  });
}

void Channel::State::Write() {
  if (write_under_way || waiting.empty()) return;
  writing.swap(waiting);
  waiting.clear();
  write_under_way = true;
  uv_buf_t buffer_out = uv_buf_init(writing.data(), static_cast<unsigned>(writing.size()));
  const int begun =
      uv_write(&write, reinterpret_cast<uv_stream_t*>(&handle), &buffer_out, 1,
               [](uv_write_t* request, int status) { static_cast<State*>(request->data)->Written(status); });
  if (begun != 0) Written(begun);
}

void Channel::State::Written(int status) {
  write_under_way = false;
  writing.clear();
  if (dead) return;
  if (status != 0) {
    waiting.clear();
    End(status == UV_EPIPE || status == UV_ECONNRESET || status == UV_ECANCELED
            ? Ok()
            : Status(ErrorCode::IO, uv_strerror(status)));
    Flushed();
    return;
  }
  if (!waiting.empty()) {
    Write();
    return;
  }
  if (closed) {
    Flushed();
  } else if (handlers.drained) {
    handlers.drained();
  }
}

void Channel::State::Flushed() {
  if (!closed) return;
  loop->Post([state = self] {
    if (!state->dead && state->closed) std::exchange(state->closed, nullptr)();
  });
}

void Channel::Send(const Json& message) {
  AppendFrame(message, &state_->waiting);
  state_->Write();
}

void Channel::SendEncoded(std::string frames) {
  if (state_->waiting.empty()) {
    state_->waiting = std::move(frames);
  } else {
    state_->waiting += frames;
  }
  state_->Write();
}

size_t Channel::unsent_bytes() const {
  return state_->waiting.size() +
         uv_stream_get_write_queue_size(reinterpret_cast<const uv_stream_t*>(&state_->handle));
}

void Channel::PauseReading() {
  state_->paused = true;
  if (!state_->reading) return;
  state_->reading = false;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&state_->handle));
}

void Channel::ResumeReading() {
  if (!state_->paused) return;
  const std::shared_ptr<State> state = state_;  // a handler may destroy this channel
  state->paused = false;
  state->TakeFrames();  // frames that were read before the pause
  if (!state->dead && !state->paused) state->Read();
}

void Channel::Finish(int64_t timeout_ms, std::function<void()> closed) {
  state_->ended = true;
  PauseReading();
  state_->closed = std::move(closed);
  if (unsent_bytes() == 0) {
    state_->Flushed();
    return;
  }
  state_->finish_timer = std::make_unique<Timer>(state_->loop, [state = state_.get()] { state->Flushed(); });
  state_->finish_timer->Once(timeout_ms);
}

}  // namespace traind::daemon
