// A layer under SQLite that keeps a checksum in every page of a database file.
//
// SQLite notices damage of a file's structure, not of its content. This layer fills the eight bytes that each
// page keeps in reserve when the page is written, and compares when it is read: a page that has changed since
// is SQLITE_IOERR_DATA. The checksum covers the page's place in the file too. Files without the reserve are
// passed on as they are; logs (-wal) have checksums of SQLite's own.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace traind::daemon {

inline constexpr int kChecksumBytes = 8;  // reserved in every page

// Registers the layer over the file system layer `base` (empty: the machine's) and returns its name. Once per
// base; any thread.
Result<std::string> ChecksumVfs(const std::string& base);

}  // namespace traind::daemon
