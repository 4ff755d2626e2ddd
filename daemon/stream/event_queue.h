// Encoded events that a client has not taken yet, within a limit of memory. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string>

namespace traind::daemon {

class EventQueue {
 public:
  explicit EventQueue(int64_t max_bytes) : max_bytes_(static_cast<size_t>(max_bytes)) {}

  // Queues an event. Past the limit the oldest droppable ones go first; false if the limit is still passed:
  // the reader is too slow to be served.
  bool Push(std::string frame, bool droppable);

  // The oldest events, about `bytes` of them at least one, as one string.
  std::string Take(size_t bytes);

  bool empty() const { return events_.empty(); }
  size_t bytes() const { return bytes_; }
  int64_t dropped() const { return dropped_; }
  void Clear();

 private:
  struct Event {
    std::string frame;
    bool droppable = false;
  };
  static size_t CostOf(const Event& event) { return event.frame.size() + sizeof(Event); }

  const size_t max_bytes_;
  std::list<Event> events_;
  std::deque<std::list<Event>::iterator> droppable_;  // oldest first
  size_t bytes_ = 0;
  int64_t dropped_ = 0;
};

}  // namespace traind::daemon
