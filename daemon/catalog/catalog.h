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
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/spec/device.h"
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

// What the views show besides the catalog's rows: filled into the reader's own temporary tables before a
// user's query.
struct LiveDevice {
  DeviceSpec device;
  int64_t reserved_bytes = 0;  // predicted peaks of the jobs that hold it
  bool busy = false;
};
struct LiveSetting {
  std::string name;
  std::string value;
  std::string source;  // default | session
};

// A read-only connection with the sys_ views and an authorizer that refuses everything else to UserQuery.
class Reader : public Connection {
 public:
  ~Reader() override;

  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows;
    bool more = false;  // there are rows beyond max_rows
  };
  using Parameters = std::vector<std::pair<std::string, Cell>>;
  // Replaces what sys_gpus, sys_nodes and sys_settings show.
  virtual Status SetLive(const std::vector<LiveDevice>& devices,
                         const std::vector<LiveSetting>& settings) = 0;
  // Runs a user's SELECT: views and functions only. At most max_rows rows; `more` says that there are others.
  // A parameter is named as in the text without its sign ("name"), or by its number ("1"). SQL errors carry
  // SQLite's byte offset in `sql` as position().offset, with line 1 when it is known and 0 when not;
  // READ_ONLY for whatever is no read of the views; UNBOUND_PARAMETER; TOO_MANY for a result or value past
  // the limits; INTERRUPTED after Interrupt().
  virtual Result<Table> UserQuery(std::string_view sql, const Parameters& parameters, int64_t max_rows) = 0;
  // The same without running it: whether it could be. The columns' names.
  virtual Result<std::vector<std::string>> CheckUserQuery(std::string_view sql) = 0;
  // From any thread: makes the query that is running now, and all later ones until ClearInterrupt(), end with
  // INTERRUPTED.
  virtual void Interrupt() = 0;
  virtual void ClearInterrupt() = 0;

 protected:
  using Connection::Connection;
};

// The names of the views a user's SELECT may read, sorted.
std::vector<std::string> ViewNames();

// How the process ends when the catalog's storage fails at a commit: what is durable is then what a restart
// finds.
inline constexpr int kCatalogFailureExitCode = 74;

class Catalog {
 public:
  struct OpenOptions {
    std::string vfs;  // SQLite's file system layer; empty: the machine's. Tests put a failing one here.
  };
  // Opens or creates both files, checks their integrity, applies migrations. DAMAGED_CATALOG moves nothing:
  // it says which file and what to do. STATE_UNUSABLE: made by a newer traind, or no catalog at all.
  static Result<std::unique_ptr<Catalog>> Open(const std::string& state_directory);
  static Result<std::unique_ptr<Catalog>> Open(const std::string& state_directory,
                                               const OpenOptions& options);
  // Finishes what is queued, then closes.
  virtual ~Catalog() = default;

  // Queues `work` for the next group; `done` gets its result after the commit, on the writer thread. An fsync
  // failure ends the process with kCatalogFailureExitCode. DISK_FULL fails the group and leaves the catalog
  // as it was. `work` runs exactly once.
  virtual void Submit(std::function<Status(Transaction&)> work, std::function<void(Status)> done) = 0;
  // Submit and wait. Never on the loop's thread.
  Status Write(std::function<Status(Transaction&)> work);

  // Queues metric rows of a job (a row replaces the one of the same job and step). `durable`: the group is
  // synced before anything queued after it is committed. A full disk keeps the rows in memory and tries
  // again; until then, work queued after a durable group fails with DISK_FULL.
  virtual void SubmitMetrics(int64_t job, std::vector<MetricRow> rows, bool durable) = 0;
  // Queues the removal of a job's rows after `step`: a new attempt begins there.
  virtual void TrimMetrics(int64_t job, int64_t step) = 0;
  // Queues the removal of a job's rows but each `every`-th step, the first, the last and those with a
  // validation.
  virtual void ThinMetrics(int64_t job, int64_t every) = 0;

  virtual Result<std::unique_ptr<Reader>> OpenReader() = 0;
};

}  // namespace traind::daemon
