// Opening the catalog's files: where they lie, their pragmas, their integrity.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/catalog/witness.h"
#include "engine/base/status.h"

namespace traind::daemon {

struct CloseHandle {
  void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
};
using Handle = std::unique_ptr<sqlite3, CloseHandle>;

std::string CatalogPath(const std::string& state_directory);
std::string MetricsPath(const std::string& state_directory);

// The writer's connection to one file: created if missing, WAL, checked (quick_check). `vfs` may be empty.
Result<Handle> OpenForWriting(const std::string& path, const std::string& vfs);

// Compares the file's own count of commits, which it gives back, with its witness: DAMAGED_CATALOG if changes
// are missing.
Status CheckWitness(sqlite3* handle, Witness& witness, const std::string& path, int64_t* commits);

// A reader's connection to both files (metrics attached as `metrics`), read-only.
Result<Handle> OpenForReading(const std::string& state_directory, const std::string& vfs);

}  // namespace traind::daemon
