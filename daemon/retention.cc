// The size is the pages in use: what is thinned makes room in the file, which does not shrink.
#include "daemon/retention.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/catalog/row.h"
#include "daemon/jobs/jobs.h"
#include "engine/base/log.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

Result<int64_t> Number(Connection& connection, std::string_view sql) {
  TRAIND_ASSIGN(const auto row, connection.QueryRow(sql));
  return row ? RowReader(*row).Int() : 0;
}

Result<int64_t> UsedBytes(Connection& connection) {
  TRAIND_ASSIGN(const int64_t pages, Number(connection, "PRAGMA metrics.page_count"));
  TRAIND_ASSIGN(const int64_t free, Number(connection, "PRAGMA metrics.freelist_count"));
  TRAIND_ASSIGN(const int64_t page_bytes, Number(connection, "PRAGMA metrics.page_size"));
  return (pages - free) * page_bytes;
}

// Ended jobs with more rows than a thinned one has: id, rows, last step.
std::string Candidates() {
  std::string states;
  for (const JobStateInfo& state : AllJobStates()) {
    if (state.terminal) states += fmt::format("{}'{}'", states.empty() ? "" : ", ", state.name);
  }
  return fmt::format(
      "SELECT m.job_id, count(*), max(m.step) FROM metrics._metrics m WHERE m.job_id IN "
      "(SELECT id FROM main._jobs WHERE state IN ({})) GROUP BY m.job_id HAVING count(*) > {} ORDER BY "
      "m.job_id",
      states, 2 * kThinnedRows);
}

}  // namespace

Result<int64_t> KeepMetricsWithin(int64_t limit_bytes, Catalog* catalog, Reader& reader) {
  TRAIND_ASSIGN(const int64_t used, UsedBytes(reader));
  if (used <= limit_bytes) return 0;
  TRAIND_ASSIGN(const int64_t rows, Number(reader, "SELECT count(*) FROM metrics._metrics"));
  TRAIND_ASSIGN(const auto candidates, reader.Query(Candidates()));
  const double bytes_per_row = static_cast<double>(used) / static_cast<double>(std::max<int64_t>(1, rows));
  double excess = static_cast<double>(used) - 0.9 * static_cast<double>(limit_bytes);
  int64_t thinned = 0;
  for (const auto& cells : candidates) {
    if (excess <= 0) break;
    RowReader row(cells);
    const int64_t job = row.Int(), job_rows = row.Int(), last_step = row.Int();
    catalog->ThinMetrics(job, std::max<int64_t>(2, last_step / kThinnedRows));
    excess -= bytes_per_row * static_cast<double>(job_rows - kThinnedRows);
    ++thinned;
  }
  if (thinned == 0) return 0;
  Log(LogLevel::kInfo,
      "metrics.db holds {}, more than its limit of {}: the curves of {} ended jobs are thinned",
      FormatBytes(static_cast<double>(used)), FormatBytes(static_cast<double>(limit_bytes)), thinned);
  return thinned;
}

}  // namespace traind::daemon
