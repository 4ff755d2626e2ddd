// SQLite's result codes as Status.
#pragma once

#include <sqlite3.h>

#include <string_view>

#include "engine/base/status.h"

namespace traind::daemon {

// The Status of a failed call on `handle`; `what` says what was being done ("reading the catalog").
//   INTERRUPTED, DISK_FULL (ENOSPC and EDQUOT), IO, STATE_IN_USE (locked by another process),
//   DAMAGED_CATALOG, READ_ONLY (the authorizer's refusal), TOO_MANY (a value or statement past SQLite's
//   limits), INTERNAL (no memory), SQL otherwise.
Status SqliteStatus(sqlite3* handle, int code, std::string_view what);

}  // namespace traind::daemon
