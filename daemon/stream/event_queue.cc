// The bounded queue of one client's events.
#include "daemon/stream/event_queue.h"

#include <iterator>
#include <utility>

namespace traind::daemon {

bool EventQueue::Push(std::string frame, bool droppable) {
  events_.push_back({std::move(frame), droppable});
  bytes_ += CostOf(events_.back());
  if (droppable) droppable_.push_back(std::prev(events_.end()));
  while (bytes_ > max_bytes_ && !droppable_.empty()) {
    bytes_ -= CostOf(*droppable_.front());
    events_.erase(droppable_.front());
    droppable_.pop_front();
    ++dropped_;
  }
  return bytes_ <= max_bytes_;
}

std::string EventQueue::Take(size_t bytes) {
  std::string frames;
  while (!events_.empty() && (frames.empty() || frames.size() + events_.front().frame.size() <= bytes)) {
    bytes_ -= CostOf(events_.front());
    if (events_.front().droppable) droppable_.pop_front();
    frames += events_.front().frame;
    events_.pop_front();
  }
  return frames;
}

void EventQueue::Clear() {
  events_.clear();
  droppable_.clear();
  bytes_ = 0;
}

}  // namespace traind::daemon
