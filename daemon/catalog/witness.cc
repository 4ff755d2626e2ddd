// A witness of what was committed: a number beside a database file.
#include "daemon/catalog/witness.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "daemon/catalog/catalog.h"
#include "daemon/catalog/row.h"
#include "daemon/catalog/sqlite_status.h"

namespace traind::daemon {
namespace {

// A file of this form is torn by no write: it is one number.
struct Content {
  int64_t commits;
};

}  // namespace

Witness::Witness(std::string name, size_t file_bytes)
    : name_(std::move(name)), memory_(file_bytes / sizeof(std::max_align_t) + 1) {}

Witness::~Witness() {
  if (file()->pMethods != nullptr) file()->pMethods->xClose(file());
}

sqlite3_file* Witness::file() {
  return reinterpret_cast<sqlite3_file*>(memory_.data());
}

Result<std::unique_ptr<Witness>> Witness::Open(const std::string& path, const std::string& vfs_name) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(vfs_name.empty() ? nullptr : vfs_name.c_str());
  if (vfs == nullptr)
    return Status(ErrorCode::INTERNAL, fmt::format("SQLite knows no file system layer {}", vfs_name));
  // SQLite reads the name's end as two zeros.
  std::unique_ptr<Witness> witness(
      new Witness(path + "-commits" + std::string(2, '\0'), static_cast<size_t>(vfs->szOsFile)));
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_SUPER_JOURNAL;
  const int code = vfs->xOpen(vfs, witness->name_.c_str(), witness->file(), kFlags, nullptr);
  if (code != SQLITE_OK) return SqliteStatus(nullptr, code, fmt::format("opening {}-commits", path));
  return witness;
}

Result<int64_t> Witness::Read() {
  Content content{};
  const int code = file()->pMethods->xRead(file(), &content, sizeof content, 0);
  if (code == SQLITE_IOERR_SHORT_READ) return int64_t{0};
  if (code != SQLITE_OK) return SqliteStatus(nullptr, code, fmt::format("reading {}", name_.c_str()));
  return content.commits;
}

Status Witness::Write(int64_t commits) {
  const Content content{commits};
  const int code = file()->pMethods->xWrite(file(), &content, sizeof content, 0);
  if (code == SQLITE_OK) return {};
  return SqliteStatus(nullptr, code, fmt::format("writing {}", name_.c_str()));
}

Result<int64_t> CountedCommits(sqlite3* handle) {
  Connection connection(handle);
  TRAIND_ASSIGN(const auto row, connection.QueryRow("SELECT number FROM _commits"));
  return row ? RowReader(*row).Int() : int64_t{0};
}

Status CountCommit(sqlite3* handle) {
  Connection connection(handle);
  return connection.Run("UPDATE _commits SET number = number + 1");
}

}  // namespace traind::daemon
