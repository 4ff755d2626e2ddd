// The writer's half for metrics.db: metric rows kept until they are committed.
#include "daemon/catalog/metrics_writer.h"

#include <algorithm>
#include <iterator>

#include "daemon/catalog/prepared.h"
#include "daemon/catalog/sqlite_status.h"

namespace traind::daemon {
namespace {

constexpr std::string_view kInsert =
    "INSERT OR REPLACE INTO _metrics(job_id, step, tokens, loss, val_loss, learning_rate, grad_norm, "
    "tokens_per_second, mfu, time) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)";

constexpr std::string_view kThin =
    "DELETE FROM _metrics WHERE job_id = ?1 AND step % ?2 <> 0 AND val_loss IS NULL "
    "AND step <> (SELECT min(step) FROM _metrics WHERE job_id = ?1) "
    "AND step <> (SELECT max(step) FROM _metrics WHERE job_id = ?1)";

Status InsertRows(sqlite3* handle, sqlite3_stmt* insert, int64_t job, const std::vector<MetricRow>& rows) {
  for (const MetricRow& row : rows) {
    const std::vector<Cell> cells = {job,
                                     row.step,
                                     row.tokens,
                                     row.loss,
                                     row.val_loss ? Cell(*row.val_loss) : Cell(),
                                     row.learning_rate,
                                     row.grad_norm,
                                     row.tokens_per_second,
                                     row.mfu,
                                     row.time};
    TRAIND_TRY(BindCells(handle, insert, cells));
    const int code = sqlite3_step(insert);
    if (code != SQLITE_DONE) return SqliteStatus(handle, code, "the metrics");
    sqlite3_reset(insert);
  }
  return {};
}

}  // namespace

void MetricsWriter::Add(std::vector<MetricChange> changes) {
  pending_.insert(pending_.end(), std::make_move_iterator(changes.begin()),
                  std::make_move_iterator(changes.end()));
}

bool MetricsWriter::durable() const {
  return std::ranges::any_of(pending_, &MetricChange::durable);
}

Status MetricsWriter::Apply() {
  Connection connection(handle_);
  TRAIND_ASSIGN(Prepared insert, PrepareSql(handle_, kInsert));
  for (const MetricChange& change : pending_) {
    if (change.trim) {
      TRAIND_TRY(connection.Run("DELETE FROM _metrics WHERE job_id = ?1 AND step > ?2",
                                {change.job, change.trim_step}));
    }
    if (change.thin_every > 0) TRAIND_TRY(connection.Run(kThin, {change.job, change.thin_every}));
    TRAIND_TRY(InsertRows(handle_, insert.get(), change.job, change.rows));
  }
  return {};
}

Status MetricsWriter::Commit() {
  if (pending_.empty()) return {};
  Connection connection(handle_);
  TRAIND_TRY(connection.Run(durable() ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
  TRAIND_TRY(connection.Run("BEGIN IMMEDIATE"));
  Status status = Apply();
  if (status.ok()) status = CountCommit(handle_);
  if (status.ok()) status = connection.Run("COMMIT");
  if (status.ok()) {
    ++commits_;
    if (durable()) (void)witness_->Write(commits_);  // saying too little is no harm
    pending_.clear();
  } else if (sqlite3_get_autocommit(handle_) == 0) {
    (void)connection.Run("ROLLBACK");
  }
  return status;
}

}  // namespace traind::daemon
