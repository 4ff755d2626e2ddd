// The writer's half for metrics.db: metric rows kept until they are committed.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <vector>

#include "engine/base/status.h"
#include "engine/spec/task.h"

namespace traind::daemon {

// One queued change of a job's metric rows.
struct MetricChange {
  int64_t job = 0;
  bool trim = false;  // remove the rows after trim_step instead
  int64_t trim_step = 0;
  std::vector<MetricRow> rows;
  bool durable = false;
};

// Not thread-safe: the writer thread's own.
class MetricsWriter {
 public:
  explicit MetricsWriter(sqlite3* handle) : handle_(handle) {}

  void Add(std::vector<MetricChange> changes);
  bool empty() const { return pending_.empty(); }
  bool durable() const;  // something pending must be synced
  // Commits all that is pending in one transaction, synced if any of it is durable. On DISK_FULL it stays
  // pending; on another failure too, and the Status says which.
  Status Commit();

 private:
  Status Apply();

  sqlite3* handle_;
  std::vector<MetricChange> pending_;
};

}  // namespace traind::daemon
