// SQLite's result codes as Status.
#include "daemon/catalog/sqlite_status.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace traind::daemon {
namespace {

bool DiskIsFull(int system_error) {
  return system_error == ENOSPC || system_error == EDQUOT;
}

Status FileStatus(sqlite3* handle, std::string_view what, std::string_view message) {
  const int system_error = handle ? sqlite3_system_errno(handle) : 0;
  if (DiskIsFull(system_error)) {
    return {ErrorCode::DISK_FULL, fmt::format("{}: no space is left for the catalog", what),
            "free some space in the state directory's file system and try again"};
  }
  if (system_error != 0)
    return {ErrorCode::IO, fmt::format("{}: {}: {}", what, message, std::strerror(system_error))};
  return {ErrorCode::IO, fmt::format("{}: {}", what, message)};
}

}  // namespace

Status SqliteStatus(sqlite3* handle, int code, std::string_view what) {
  const std::string message = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  if (code == SQLITE_IOERR_DATA || code == SQLITE_IOERR_CORRUPTFS) {
    return {ErrorCode::DAMAGED_CATALOG, fmt::format("{}: a page does not match its checksum", what)};
  }
  switch (code & 0xff) {
    case SQLITE_OK:
      return {};
    case SQLITE_INTERRUPT:
      return {ErrorCode::INTERRUPTED, "the query was interrupted"};
    case SQLITE_FULL:
      return {ErrorCode::DISK_FULL, fmt::format("{}: no space is left for the catalog", what),
              "free some space in the state directory's file system and try again"};
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return FileStatus(handle, what, message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {ErrorCode::STATE_IN_USE, fmt::format("{}: another process holds the catalog's file", what),
              "end that process (an open sqlite3 shell, say)"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::DAMAGED_CATALOG, fmt::format("{}: {}", what, message)};
    case SQLITE_AUTH:
      return {ErrorCode::READ_ONLY, message};
    case SQLITE_TOOBIG:
      return {ErrorCode::TOO_MANY, fmt::format("{}: {}", what, message)};
    case SQLITE_NOMEM:
      return {ErrorCode::INTERNAL, fmt::format("{}: the daemon is out of memory", what)};
    default:
      return {ErrorCode::SQL, message};
  }
}

}  // namespace traind::daemon
