// The catalog: everything the daemon has acknowledged, in two SQLite files of the state directory.
//
// catalog.db (WAL, synchronous=FULL) holds what must survive power loss; metrics.db (WAL, NORMAL) the
// high-rate rows, attached to every connection as `metrics`. One thread writes, in groups: all work queued
// since the last turn shares one COMMIT, and nothing is answered before it. Readers are separate connections
// that see committed data only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/spec/task.h"

struct sqlite3;
struct sqlite3_stmt;

namespace traind::daemon {

// A value of a column: NULL, integer, real, text.
using Cell = std::variant<std::monostate, int64_t, double, std::string>;

// A connection, for running prepared statements. Not thread-safe. Every failure is a Status (SQL, IO,
// DISK_FULL, DAMAGED_CATALOG, INTERRUPTED).
class Connection {
 public:
  explicit Connection(sqlite3* handle) : handle_(handle) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs one statement with ?1, ?2 … bound; rows are dropped.
  Status Run(std::string_view sql, const std::vector<Cell>& arguments = {});
  // All rows of a query.
  Result<std::vector<std::vector<Cell>>> Query(std::string_view sql, const std::vector<Cell>& arguments = {});
  // The first row, or nullopt.
  Result<std::optional<std::vector<Cell>>> QueryRow(std::string_view sql,
                                                    const std::vector<Cell>& arguments = {});

  sqlite3* handle() const { return handle_; }

 protected:
  sqlite3* handle_;
};

// The writer's connection, inside a transaction. If the work returns an error, what it did is rolled back (a
// savepoint) and the others of its group are not touched.
class Transaction : public Connection {
 public:
  using Connection::Connection;
  int64_t last_insert_id() const;
  // Called after the group's commit, on the writer thread; for notifications.
  void AfterCommit(std::function<void()> action);
  std::vector<std::function<void()>> TakeActions();

 private:
  std::vector<std::function<void()>> actions_;
};

// A read-only connection with the sys_ views and an authorizer that refuses everything else to UserQuery.
class Reader : public Connection {
 public:
  using Connection::Connection;
  ~Reader() override;

  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows;
  };
  // Runs a user's SELECT: views and functions only, at most max_rows. SQL errors carry SQLite's byte offset
  // in `sql` as position().offset (line 0 when unknown); READ_ONLY for writes; TOO_MANY past the limits;
  // INTERRUPTED after Interrupt().
  Result<Table> UserQuery(std::string_view sql, const std::vector<std::pair<std::string, Cell>>& parameters,
                          int64_t max_rows);
  // From any thread: makes the query that is running now end with INTERRUPTED.
  void Interrupt();
};

class Catalog {
 public:
  // Opens or creates both files, checks their integrity, applies migrations. DAMAGED_CATALOG moves nothing:
  // it says which file and what to do.
  static Result<std::unique_ptr<Catalog>> Open(const std::string& state_directory);
  // Finishes what is queued, then closes.
  virtual ~Catalog() = default;

  // Queues `work` for the next group; `done` gets its result after the commit, on the writer thread. An fsync
  // failure ends the process: what is durable is then what a restart finds.
  virtual void Submit(std::function<Status(Transaction&)> work, std::function<void(Status)> done) = 0;
  // Submit and wait. Never on the loop's thread.
  Status Write(std::function<Status(Transaction&)> work);

  // Queues metric rows of a job (a row replaces the one of the same job and step). `durable`: the group is
  // synced before anything queued after it is committed.
  virtual void SubmitMetrics(int64_t job, std::vector<MetricRow> rows, bool durable) = 0;

  virtual Result<std::unique_ptr<Reader>> OpenReader() = 0;
};

}  // namespace traind::daemon
