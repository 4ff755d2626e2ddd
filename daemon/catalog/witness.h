// A witness of what was committed: a number beside a database file, to know a log that has lost its end.
//
// SQLite takes a log (-wal) whose end is missing or unreadable for one that a crash cut off, and forgets what
// stood there. So every commit counts itself in the database (table _commits), and afterwards, when it is
// durable, writes the count into a small file. A database that counts less than its witness has lost
// acknowledged changes. The witness is not synced: it may say less than is true, never more.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace traind::daemon {

class Witness {
 public:
  // The witness "<path>-commits" of a database, made if missing, through the file system layer `vfs`.
  static Result<std::unique_ptr<Witness>> Open(const std::string& path, const std::string& vfs);
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // 0 if nothing was written yet.
  Result<int64_t> Read();
  Status Write(int64_t commits);

 private:
  Witness(std::string name, size_t file_bytes);
  sqlite3_file* file();

  std::string name_;
  std::vector<std::max_align_t> memory_;  // of the layer's open file
};

// How often the database has been committed to, as it says itself.
Result<int64_t> CountedCommits(sqlite3* handle);
// Counts one more, inside the transaction that is being committed.
Status CountCommit(sqlite3* handle);

}  // namespace traind::daemon
