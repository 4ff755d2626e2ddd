// Where events come together: from the catalog's event table and from running attempts, to the subscribers of
// all sessions and to those who wait for a job. On the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/loop.h"
#include "daemon/pool.h"
#include "engine/base/json.h"
#include "engine/spec/task.h"

namespace traind::daemon {

enum class EventKind : unsigned { kState = 1, kMetric = 2, kLog = 4, kBudget = 8 };
inline constexpr unsigned kAllEventKinds = 15;
std::string_view EventKindName(EventKind kind);  // "state", "metric", …
std::optional<EventKind> ParseEventKind(std::string_view name);

// What a running attempt has reached, kept in memory only.
struct JobProgress {
  int64_t step = 0;
  int64_t total_steps = 0;  // 0: not known
  std::optional<double> loss;
  std::optional<double> val_loss;
  std::optional<double> tokens_per_second;
  std::optional<double> step_seconds;  // smoothed
  std::optional<int64_t> preparing_done;
  std::optional<int64_t> preparing_total;
};

class Hub {
 public:
  Hub(Loop* loop, Pool* pool) : loop_(loop), pool_(pool) {}

  // An event for a subscriber, encoded once for all of them: {"job":…,"kind":…,…}. `droppable`: a newer one
  // of its kind makes up for it.
  using Sink = std::function<void(const std::string& event, bool droppable)>;
  // `job` absent: all jobs. `ready` is called once; events from then on reach the sink.
  int64_t Subscribe(std::optional<int64_t> job, unsigned kinds, Sink sink, std::function<void()> ready);
  void Unsubscribe(int64_t subscription);

  // An event that is in no table: a metric row, a line of a worker's log.
  void Publish(EventKind kind, int64_t job, Json fields);

  // The job's row or its events have changed; committed.
  void JobChanged(int64_t job);
  // Calls `action` after each JobChanged(job).
  int64_t Listen(int64_t job, std::function<void()> action);
  void Unlisten(int64_t listener);

  void SetProgress(int64_t job, const JobProgress& progress) { progress_[job] = progress; }
  void ClearProgress(int64_t job) { progress_.erase(job); }
  const JobProgress* progress(int64_t job) const;

 private:
  struct Subscription {
    std::optional<int64_t> job;
    unsigned kinds = 0;
    Sink sink;
    std::function<void()> ready;  // until the position in the event table is known
  };
  struct Listener {
    int64_t job = 0;
    std::function<void()> action;
  };
  struct EventRows;

  void Deliver(EventKind kind, int64_t job, Json fields, bool droppable);
  // Reads the event table's new rows on the pool and delivers them.
  void Pump();
  void Pumped(const EventRows& rows);

  Loop* const loop_;
  Pool* const pool_;
  int64_t last_handle_ = 0;
  std::map<int64_t, Subscription> subscriptions_;
  std::map<int64_t, Listener> listeners_;
  std::map<int64_t, JobProgress> progress_;
  int64_t last_event_ = -1;  // id of the last row delivered; -1: not known, nobody was listening
  bool pumping_ = false;
  bool pump_again_ = false;
};

}  // namespace traind::daemon
