// Subscriptions, listeners, and the pump that follows the event table.
#include "daemon/stream/hub.h"

#include <array>
#include <utility>
#include <vector>

#include "engine/base/log.h"

namespace traind::daemon {
namespace {

struct KindName {
  EventKind kind;
  std::string_view name;
};
constexpr std::array<KindName, 4> kKinds = {{{EventKind::kState, "state"},
                                             {EventKind::kMetric, "metric"},
                                             {EventKind::kLog, "log"},
                                             {EventKind::kBudget, "budget"}}};

constexpr int64_t kEventsPerTurn = 500;

struct EventRow {
  int64_t id = 0;
  int64_t job = 0;
  double time = 0;
  std::string kind;
  std::string detail;
};

// Kinds of the table that have no subscription of their own (checkpoint, worker, retry …) go to log's.
EventKind SubscriptionKind(std::string_view table_kind) {
  return ParseEventKind(table_kind).value_or(EventKind::kLog);
}

Json FieldsOf(const EventRow& row) {
  Json fields{{"time", row.time}, {"detail", row.detail}};
  if (row.kind == "state") fields["state"] = row.detail.substr(0, row.detail.find(':'));
  if (SubscriptionKind(row.kind) == EventKind::kLog) {
    fields["level"] = "info";
    fields["text"] = row.kind + ": " + row.detail;
  }
  return fields;
}

}  // namespace

struct Hub::EventRows {
  Status status;
  bool position_only = false;
  int64_t last = -1;
  std::vector<EventRow> rows;
};

std::string_view EventKindName(EventKind kind) {
  for (const KindName& row : kKinds) {
    if (row.kind == kind) return row.name;
  }
  return "log";
}

std::optional<EventKind> ParseEventKind(std::string_view name) {
  for (const KindName& row : kKinds) {
    if (row.name == name) return row.kind;
  }
  return std::nullopt;
}

int64_t Hub::Subscribe(std::optional<int64_t> job, unsigned kinds, Sink sink, std::function<void()> ready) {
  const int64_t handle = ++last_handle_;
  if (subscriptions_.empty()) last_event_ = -1;
  subscriptions_[handle] = {job, kinds, std::move(sink), std::move(ready)};
  Pump();
  return handle;
}

void Hub::Unsubscribe(int64_t subscription) {
  subscriptions_.erase(subscription);
}

void Hub::Publish(EventKind kind, int64_t job, Json fields) {
  Deliver(kind, job, std::move(fields), kind == EventKind::kMetric);
}

void Hub::Deliver(EventKind kind, int64_t job, Json fields, bool droppable) {
  std::string event;
  for (auto& [handle, subscription] : subscriptions_) {
    if (subscription.ready || (subscription.kinds & static_cast<unsigned>(kind)) == 0) continue;
    if (subscription.job && *subscription.job != job) continue;
    if (event.empty()) {
      fields["kind"] = EventKindName(kind);
      fields["job"] = job;
      event = DumpJson(fields);
    }
    subscription.sink(event, droppable);
  }
}

void Hub::JobChanged(int64_t job) {
  std::vector<std::function<void()>> actions;
  for (const auto& [handle, listener] : listeners_) {
    if (listener.job == job) actions.push_back(listener.action);
  }
  for (const auto& action : actions) action();
  if (!subscriptions_.empty()) Pump();
}

int64_t Hub::Listen(int64_t job, std::function<void()> action) {
  listeners_[++last_handle_] = {job, std::move(action)};
  return last_handle_;
}

void Hub::Unlisten(int64_t listener) {
  listeners_.erase(listener);
}

const JobProgress* Hub::progress(int64_t job) const {
  const auto found = progress_.find(job);
  return found == progress_.end() ? nullptr : &found->second;
}

void Hub::Pump() {
  pump_again_ = pumping_;
  if (pumping_) return;
  pumping_ = true;
  auto result = std::make_shared<EventRows>();
  result->position_only = last_event_ < 0;
  pool_->Submit(
      [result, after = last_event_](Reader& reader) {
        if (result->position_only) {
          auto last = reader.QueryRow("SELECT coalesce(max(id), 0) FROM main._events");
          result->status = last.status();
          if (last.ok() && *last) result->last = std::get<int64_t>((**last)[0]);
          return;
        }
        auto rows = reader.Query(
            "SELECT id, job_id, time, kind, detail FROM main._events WHERE id > ?1 ORDER BY id LIMIT ?2",
            {after, kEventsPerTurn});
        result->status = rows.status();
        if (!rows.ok()) return;
        for (auto& row : *rows) {
          result->rows.push_back({std::get<int64_t>(row[0]), std::get<int64_t>(row[1]),
                                  std::get<double>(row[2]), std::get<std::string>(row[3]),
                                  std::get<std::string>(row[4])});
        }
      },
      [this, result] { Pumped(*result); });
}

void Hub::Pumped(const EventRows& result) {
  pumping_ = false;
  if (!result.status.ok()) {
    Log(LogLevel::kError, "events cannot be read: {}", result.status.ToString());
  } else if (result.position_only) {
    last_event_ = result.last;
  } else {
    for (const EventRow& row : result.rows) {
      last_event_ = row.id;
      Deliver(SubscriptionKind(row.kind), row.job, FieldsOf(row), false);
    }
    if (static_cast<int64_t>(result.rows.size()) == kEventsPerTurn) pump_again_ = true;
  }
  std::vector<std::function<void()>> ready;
  if (last_event_ >= 0) {
    for (auto& [handle, subscription] : subscriptions_) {
      if (subscription.ready) ready.push_back(std::exchange(subscription.ready, nullptr));
    }
  }
  for (const auto& action : ready) action();
  if (pump_again_ && !subscriptions_.empty()) Pump();
}

}  // namespace traind::daemon
