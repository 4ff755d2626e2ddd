// The threads' loop, and the tending of threads that are held up.
#include "daemon/pool.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/log.h"

namespace traind::daemon {
namespace {

constexpr int64_t kTendEveryMs = 50;
// A queue whose head has waited this long gets another thread.
constexpr double kPressureSeconds = 0.1;

}  // namespace

Pool::Pool(Loop* loop, Catalog* catalog, int max_threads)
    : loop_(loop), catalog_(catalog), max_threads_(max_threads) {
  tend_ = std::make_unique<Timer>(loop, [this] { Tend(); });
}

Result<std::unique_ptr<Pool>> Pool::Start(Loop* loop, Catalog* catalog, int threads, int max_threads) {
  std::unique_ptr<Pool> pool(new Pool(loop, catalog, max_threads));
  for (int i = 0; i < threads; ++i) TRAIND_TRY(pool->AddThread());
  return pool;
}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  wake_.notify_all();
  for (const auto& thread : threads_) {
    thread->reader->Interrupt();
    thread->thread.join();
  }
}

Status Pool::AddThread() {
  auto thread = std::make_unique<Thread>();
  TRAIND_ASSIGN(thread->reader, catalog_->OpenReader());
  Thread* self = thread.get();
  {
    std::lock_guard lock(mutex_);
    threads_.push_back(std::move(thread));
  }
  self->thread = std::thread([this, self] { RunThread(self); });
  return Ok();
}

int Pool::threads() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(threads_.size());
}

void Pool::RunThread(Thread* self) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    self->running = item.ticket;
    self->reader->ClearInterrupt();
    lock.unlock();
    item.work(*self->reader);
    item.work = nullptr;  // what it holds is freed here, not on the loop
    lock.lock();
    self->running = 0;
    if (!stopping_ && item.done) loop_->Post(std::move(item.done));
  }
}

Pool::Ticket Pool::Submit(std::function<void(Reader&)> work, std::function<void()> done) {
  const Ticket ticket = ++last_ticket_;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({ticket, std::move(work), std::move(done), SystemClock().MonotonicSeconds()});
  }
  wake_.notify_one();
  if (!tend_->active()) tend_->Every(kTendEveryMs);
  return ticket;
}

void Pool::Interrupt(Ticket ticket) {
  std::lock_guard lock(mutex_);
  for (const auto& thread : threads_) {
    if (thread->running == ticket) thread->reader->Interrupt();
  }
}

void Pool::Tend() {
  bool pressed = false;
  {
    std::lock_guard lock(mutex_);
    if (queue_.empty()) {
      tend_->Stop();
      return;
    }
    pressed = SystemClock().MonotonicSeconds() - queue_.front().queued_at > kPressureSeconds &&
              static_cast<int>(threads_.size()) < max_threads_;
  }
  if (!pressed) return;
  const Status added = AddThread();
  if (!added.ok()) Log(LogLevel::kWarning, "no further pool thread: {}", added.ToString());
}

}  // namespace traind::daemon
