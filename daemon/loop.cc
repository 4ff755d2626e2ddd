// The loop and its handles. A handle's memory lives until libuv has called its close callback.
#include "daemon/loop.h"

#include <time.h>

#include <utility>

#include "engine/base/log.h"

namespace traind::daemon {
namespace {

// Posted tasks yield to other events of the loop after this long.
constexpr uint64_t kPostedSliceNs = 5'000'000;

// A turn that is worth a line in the log: was it work, or a processor that was given to others?
constexpr int64_t kLongTurnNs = 50'000'000;

int64_t ProcessorNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

template <typename State>
void CloseAndFree(State* state) {
  uv_close(reinterpret_cast<uv_handle_t*>(&state->handle),
           [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
}

}  // namespace

Loop::Loop() {
  uv_loop_init(&loop_);
  uv_loop_configure(&loop_, UV_METRICS_IDLE_TIME);
  uv_async_init(&loop_, &wake_, [](uv_async_t* handle) { static_cast<Loop*>(handle->data)->RunPosted(); });
  wake_.data = this;
  uv_prepare_init(&loop_, &turn_);
  turn_.data = this;
  uv_prepare_start(&turn_, [](uv_prepare_t* handle) { static_cast<Loop*>(handle->data)->MeterTurn(); });
}

Loop::~Loop() {
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&turn_), nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);  // runs the close callbacks that are still due
  uv_loop_close(&loop_);
}

void Loop::Post(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
  }
  uv_async_send(&wake_);
}

void Loop::RunPosted() {
  std::vector<std::function<void()>> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  const uint64_t until = uv_hrtime() + kPostedSliceNs;
  size_t next = 0;
  while (next < tasks.size() && uv_hrtime() < until) {
    const auto task = std::move(tasks[next++]);
    task();
  }
  if (next == tasks.size()) return;
  std::lock_guard lock(mutex_);
  posted_.insert(posted_.begin(), std::make_move_iterator(tasks.begin() + static_cast<ptrdiff_t>(next)),
                 std::make_move_iterator(tasks.end()));
  uv_async_send(&wake_);
}

void Loop::MeterTurn() {
  const uint64_t now = uv_hrtime();
  const uint64_t idle = uv_metrics_idle_time(&loop_);
  const int64_t processor = ProcessorNs();
  if (turn_began_ns_ != 0) {
    const auto busy =
        static_cast<int64_t>(now - turn_began_ns_) - static_cast<int64_t>(idle - idle_before_ns_);
    lag_.Record(busy);
    if (busy > kLongTurnNs) {
      Log(LogLevel::kDebug, "a turn of the loop took {:.1f} ms, {:.1f} ms of it on the processor",
          static_cast<double>(busy) * 1e-6, static_cast<double>(processor - processor_before_ns_) * 1e-6);
    }
  }
  processor_before_ns_ = processor;
  turn_began_ns_ = now;
  idle_before_ns_ = idle;
}

void Loop::Run() {
  uv_run(&loop_, UV_RUN_DEFAULT);
}

void Loop::Stop() {
  uv_stop(&loop_);
}

struct Timer::State {
  uv_timer_t handle{};
  std::function<void()> action;
};

Timer::Timer(Loop* loop, std::function<void()> action) : state_(new State) {
  state_->action = std::move(action);
  uv_timer_init(loop->handle(), &state_->handle);
  state_->handle.data = state_;
}

Timer::~Timer() {
  uv_timer_stop(&state_->handle);
  CloseAndFree(state_);
}

void Timer::Once(int64_t after_ms) {
  uv_update_time(state_->handle.loop);
  uv_timer_start(
      &state_->handle, [](uv_timer_t* handle) { static_cast<State*>(handle->data)->action(); },
      static_cast<uint64_t>(after_ms), 0);
}

void Timer::Every(int64_t interval_ms) {
  uv_update_time(state_->handle.loop);
  uv_timer_start(
      &state_->handle, [](uv_timer_t* handle) { static_cast<State*>(handle->data)->action(); },
      static_cast<uint64_t>(interval_ms), static_cast<uint64_t>(interval_ms));
}

void Timer::Stop() {
  uv_timer_stop(&state_->handle);
}

bool Timer::active() const {
  return uv_is_active(reinterpret_cast<const uv_handle_t*>(&state_->handle)) != 0;
}

struct Watch::State {
  uv_poll_t handle{};
  std::function<void()> action;
};

Watch::Watch(Loop* loop, int descriptor, std::function<void()> action) : state_(new State) {
  state_->action = std::move(action);
  uv_poll_init(loop->handle(), &state_->handle, descriptor);
  state_->handle.data = state_;
}

Watch::~Watch() {
  uv_poll_stop(&state_->handle);
  CloseAndFree(state_);
}

void Watch::Start() {
  uv_poll_start(&state_->handle, UV_READABLE,
                [](uv_poll_t* handle, int, int) { static_cast<State*>(handle->data)->action(); });
}

void Watch::Stop() {
  uv_poll_stop(&state_->handle);
}

struct SignalWatch::State {
  uv_signal_t handle{};
  std::function<void()> action;
};

SignalWatch::SignalWatch(Loop* loop, int signal_number, std::function<void()> action) : state_(new State) {
  state_->action = std::move(action);
  uv_signal_init(loop->handle(), &state_->handle);
  state_->handle.data = state_;
  uv_signal_start(
      &state_->handle, [](uv_signal_t* handle, int) { static_cast<State*>(handle->data)->action(); },
      signal_number);
}

SignalWatch::~SignalWatch() {
  uv_signal_stop(&state_->handle);
  CloseAndFree(state_);
}

}  // namespace traind::daemon
