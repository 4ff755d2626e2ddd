// Opening the catalog's files: where they lie, their pragmas, their integrity.
#include "daemon/catalog/open.h"

#include <fmt/format.h>

#include "daemon/catalog/checksum_vfs.h"
#include "daemon/catalog/prepared.h"
#include "daemon/catalog/row.h"
#include "daemon/catalog/sqlite_status.h"

namespace traind::daemon {
namespace {

constexpr int kBusyTimeoutMs = 5000;  // another process may read the files, with sqlite3 say

// trusted_schema off and defensive on: a damaged or foreign schema can call no function with side effects.
constexpr const char* kPragmas =
    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY;";
constexpr const char* kWriterPragmas =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;";

Status Damaged(std::string_view path, std::string_view finding) {
  return {
      ErrorCode::DAMAGED_CATALOG, fmt::format("{} is damaged: {}", path, finding),
      fmt::format(
          "nothing was changed. Keep a copy of it and of {0}-wal; then restore both from a backup, or move "
          "both aside to begin anew (models and checkpoints stay in their folders)",
          path)};
}

// A damage's message names the file; other failures keep theirs.
Status NameFile(Status status, std::string_view path) {
  if (status.code() == ErrorCode::DAMAGED_CATALOG) return Damaged(path, status.message());
  return status;
}

Status RunScript(sqlite3* handle, const char* sql, const std::string& path) {
  const int code = sqlite3_exec(handle, sql, nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return {};
  return NameFile(SqliteStatus(handle, code, fmt::format("opening {}", path)), path);
}

Result<Handle> OpenFile(const std::string& path, const std::string& vfs, int flags) {
  TRAIND_ASSIGN(const std::string layer, ChecksumVfs(vfs));
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, layer.c_str());
  Handle handle(raw);
  if (code != SQLITE_OK) return SqliteStatus(raw, code, fmt::format("opening {}", path));
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  int reserve = kChecksumBytes;  // of a new file
  sqlite3_file_control(raw, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
  TRAIND_TRY(RunScript(raw, kPragmas, path));
  return handle;
}

Status CheckIntegrity(sqlite3* handle, const std::string& path) {
  Connection connection(handle);
  auto row = connection.QueryRow("PRAGMA quick_check(1)");
  if (!row.ok()) return NameFile(row.status(), path);
  if (!*row || (*row)->empty()) return Damaged(path, "its integrity check gives no answer");
  const auto* answer = std::get_if<std::string>(&(**row)[0]);
  if (answer == nullptr || *answer != "ok")
    return Damaged(path, answer ? *answer : "its integrity check failed");
  return {};
}

// A file with content has kept its checksums from the first page on.
Status CheckReserve(sqlite3* handle, const std::string& path) {
  Connection connection(handle);
  auto pages = connection.QueryRow("PRAGMA page_count");
  if (!pages.ok()) return NameFile(pages.status(), path);
  int reserve = -1;  // asks
  sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
  const bool empty = !*pages || RowReader(**pages).Int() == 0;
  if (empty || reserve == kChecksumBytes) return {};
  return Damaged(path, "its pages have no checksums");
}

}  // namespace

std::string CatalogPath(const std::string& state_directory) {
  return state_directory + "/catalog.db";
}

std::string MetricsPath(const std::string& state_directory) {
  return state_directory + "/metrics.db";
}

Status CheckWitness(sqlite3* handle, Witness& witness, const std::string& path, int64_t* commits) {
  auto counted = CountedCommits(handle);
  if (!counted.ok()) return NameFile(counted.status(), path);
  TRAIND_ASSIGN(const int64_t witnessed, witness.Read());
  *commits = *counted;
  if (*counted >= witnessed) return {};
  return Damaged(
      path,
      fmt::format("its newest changes are missing ({} of {} commits are there): its log {}-wal was lost or "
                  "damaged",
                  *counted, witnessed, path));
}

Result<Handle> OpenForWriting(const std::string& path, const std::string& vfs) {
  TRAIND_ASSIGN(Handle handle, OpenFile(path, vfs, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  TRAIND_TRY(RunScript(handle.get(), kWriterPragmas, path));
  TRAIND_TRY(CheckReserve(handle.get(), path));
  TRAIND_TRY(CheckIntegrity(handle.get(), path));
  return handle;
}

Result<Handle> OpenForReading(const std::string& state_directory, const std::string& vfs) {
  const std::string path = CatalogPath(state_directory);
  TRAIND_ASSIGN(Handle handle, OpenFile(path, vfs, SQLITE_OPEN_READONLY));
  Connection connection(handle.get());
  TRAIND_TRY(connection.Run("ATTACH DATABASE ?1 AS metrics", {MetricsPath(state_directory)}));
  return handle;
}

}  // namespace traind::daemon
