// What becomes of old metrics: metrics.db is kept within a size by thinning the curves of jobs that have
// ended.
#pragma once

#include <cstdint>

#include "daemon/catalog/catalog.h"
#include "engine/base/status.h"

namespace traind::daemon {

inline constexpr int64_t kThinnedRows = 1000;  // about how many rows of a thinned curve are left

// If metrics.db holds more than `limit_bytes`, queues the thinning of ended jobs' rows, the oldest jobs
// first, until it should hold a tenth less. Jobs that have not ended keep every row, so that the file may
// stay larger. Gives the number of jobs that are thinned. On a thread that may block.
Result<int64_t> KeepMetricsWithin(int64_t limit_bytes, Catalog* catalog, Reader& reader);

}  // namespace traind::daemon
