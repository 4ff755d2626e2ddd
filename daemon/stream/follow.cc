// Following: the statement's own code is asked for further rows a few times a second.
#include "daemon/stream/follow.h"

#include <utility>
#include <vector>

#include "daemon/reply.h"
#include "daemon/stream/job_status.h"

namespace traind::daemon {
namespace {

constexpr int64_t kTickMs = 250;

}  // namespace

struct Follow::Batch {
  Status status;
  std::deque<std::string> frames;
  int64_t rows = 0;
  int64_t after = 0;
  bool terminal = false;
};

Follow::Follow(Loop* loop, Pool* pool, Hub* hub, int64_t id, FollowOutcome outcome,
               std::function<bool(std::deque<std::string>, int64_t)> on_rows,
               std::function<void(Status)> on_end)
    : loop_(loop),
      pool_(pool),
      hub_(hub),
      id_(id),
      on_rows_(std::move(on_rows)),
      on_end_(std::move(on_end)),
      outcome_(std::move(outcome)),
      self_(std::make_shared<Follow*>(this)),
      tick_(loop, [this] { Read(); }) {
  listener_ = hub_->Listen(outcome_.job, [this] { Read(); });
  tick_.Every(kTickMs);
  Read();
}

Follow::~Follow() {
  *self_ = nullptr;
  hub_->Unlisten(listener_);
}

void Follow::Continue() {
  blocked_ = false;
  Read();
}

void Follow::Read() {
  if (reading_ || blocked_ || !on_end_) return;
  reading_ = true;
  auto batch = std::make_shared<Batch>();
  batch->after = outcome_.after;
  pool_->Submit(
      [batch, id = id_, job = outcome_.job, next = outcome_.next](Reader& reader) {
        // The state first: rows that come before the job is seen terminal are then all seen too.
        const auto status = ReadJobStatus(reader, job);
        batch->status = status.status();
        if (!status.ok()) return;
        batch->terminal = InfoOf(status->state).terminal;
        if (!next) return;
        const auto rows = next(reader, &batch->after);
        batch->status = rows.status();
        if (!rows.ok()) return;
        batch->rows = static_cast<int64_t>(rows->size());
        auto frames = EncodeRows(id, *rows);
        batch->status = frames.status();
        if (frames.ok()) batch->frames = *std::move(frames);
      },
      [self = self_, batch] {
        if (*self != nullptr) (*self)->Took(batch.get());
      });
}

void Follow::Took(Batch* batch) {
  reading_ = false;
  const bool moved = batch->after != outcome_.after;
  outcome_.after = batch->after;
  if (!batch->status.ok() || (batch->terminal && !moved)) {
    tick_.Stop();
    if (on_end_) std::exchange(on_end_, nullptr)(batch->status);
    return;
  }
  if (batch->rows > 0) blocked_ = !on_rows_(std::move(batch->frames), batch->rows);
  if (moved) Read();
}

}  // namespace traind::daemon
