// The writer's half for metrics.db: metric rows kept until they are committed.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/catalog/witness.h"
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
  int64_t thin_every = 0;  // keep each of these steps only; 0: all
};

// Not thread-safe: the writer thread's own.
class MetricsWriter {
 public:
  MetricsWriter(sqlite3* handle, std::unique_ptr<Witness> witness, int64_t commits)
      : handle_(handle), witness_(std::move(witness)), commits_(commits) {}

  void Add(std::vector<MetricChange> changes);
  bool empty() const { return pending_.empty(); }
  bool durable() const;  // something pending must be synced
  // Commits all that is pending in one transaction, synced if any of it is durable. On DISK_FULL it stays
  // pending; on another failure too, and the Status says which.
  Status Commit();

 private:
  Status Apply();

  sqlite3* handle_;
  std::unique_ptr<Witness> witness_;  // of the synced commits
  int64_t commits_;
  std::vector<MetricChange> pending_;
};

}  // namespace traind::daemon
