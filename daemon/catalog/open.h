// Opening the catalog's files: where they lie, their pragmas, their integrity.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>

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

// A reader's connection to both files (metrics attached as `metrics`), read-only.
Result<Handle> OpenForReading(const std::string& state_directory, const std::string& vfs);

}  // namespace traind::daemon
