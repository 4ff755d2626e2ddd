// The catalog and its writer thread: group commit.
//
// One turn takes everything that is queued. Metrics are committed first, so that a checkpoint's row, which is
// queued after the metrics up to it, can never be durable without them.
#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "daemon/catalog/catalog.h"
#include "daemon/catalog/metrics_writer.h"
#include "daemon/catalog/migrations.h"
#include "daemon/catalog/open.h"
#include "daemon/catalog/query_memory.h"
#include "daemon/catalog/reader.h"
#include "daemon/catalog/sqlite_status.h"
#include "engine/base/fault.h"
#include "engine/base/log.h"

namespace traind::daemon {
namespace {

constexpr auto kRetryPause = std::chrono::seconds(1);  // between two tries to commit metrics on a full disk
constexpr int kCheckpointPages = 1000;                 // WAL pages after which it is copied into the file

struct Item {
  std::function<Status(Transaction&)> work;
  std::function<void(Status)> done;
  Status result;
};

// Storage that fails at a commit is not tried again: what the page cache holds is then unknown.
[[noreturn]] void EndProcess(const Status& status) {
  LogLine(LogLevel::kError, fmt::format("the catalog's storage failed, traind ends: {}", status.ToString()));
  _exit(kCatalogFailureExitCode);
}

bool IsFatal(const Status& status) {
  return status.code() == ErrorCode::IO || status.code() == ErrorCode::DAMAGED_CATALOG;
}

// Copies the WAL into the file when it has grown. SQLite's own hook would try a failed fsync again.
int CheckpointHook(void*, sqlite3* handle, const char* schema, int pages) {
  if (pages < kCheckpointPages) return SQLITE_OK;
  const int code = sqlite3_wal_checkpoint_v2(handle, schema, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_IOERR_FSYNC && code != SQLITE_IOERR_DIR_FSYNC) return SQLITE_OK;
  EndProcess(SqliteStatus(handle, code, "copying the catalog's log into its file"));
}

// A file as it was opened, checked and migrated.
struct OpenDatabase {
  Handle handle;
  std::unique_ptr<Witness> witness;
  int64_t commits = 0;
};

class CatalogWriter final : public Catalog {
 public:
  CatalogWriter(std::string state_directory, OpenOptions options, OpenDatabase catalog, OpenDatabase metrics)
      : state_directory_(std::move(state_directory)),
        options_(std::move(options)),
        catalog_(std::move(catalog.handle)),
        witness_(std::move(catalog.witness)),
        commits_(catalog.commits),
        metrics_(std::move(metrics.handle)),
        metrics_writer_(metrics_.get(), std::move(metrics.witness), metrics.commits) {
    sqlite3_wal_hook(catalog_.get(), &CheckpointHook, nullptr);
    sqlite3_wal_hook(metrics_.get(), &CheckpointHook, nullptr);
    thread_ = std::thread([this] { Loop(); });
  }

  ~CatalogWriter() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void Submit(std::function<Status(Transaction&)> work, std::function<void(Status)> done) override {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back({std::move(work), std::move(done), {}});
    }
    wake_.notify_one();
  }

  void SubmitMetrics(int64_t job, std::vector<MetricRow> rows, bool durable) override {
    AddChange({job, false, 0, std::move(rows), durable});
  }
  void TrimMetrics(int64_t job, int64_t step) override { AddChange({job, true, step, {}, false}); }
  void ThinMetrics(int64_t job, int64_t every) override {
    MetricChange change;
    change.job = job;
    change.thin_every = every;
    AddChange(std::move(change));
  }

  Result<std::unique_ptr<Reader>> OpenReader() override {
    return OpenReaderOn(state_directory_, options_.vfs);
  }

 private:
  void AddChange(MetricChange change) {
    {
      const std::lock_guard lock(mutex_);
      changes_.push_back(std::move(change));
    }
    wake_.notify_one();
  }

  void Loop();
  bool TakeTurn(std::vector<Item>* items);
  Status CommitMetrics();
  void CommitGroup(std::vector<Item>* items);
  size_t RunWorks(std::vector<Item>* items, size_t begin, std::vector<std::function<void()>>* actions);
  Status CommitWorks();
  static void FailRange(std::vector<Item>* items, size_t begin, size_t end, const Status& status);

  std::string state_directory_;
  OpenOptions options_;
  Handle catalog_;
  std::unique_ptr<Witness> witness_;
  int64_t commits_;
  Handle metrics_;
  MetricsWriter metrics_writer_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Item> items_;
  std::vector<MetricChange> changes_;
  bool stopping_ = false;
  std::thread thread_;
};

void CatalogWriter::Loop() {
  std::vector<Item> items;
  while (TakeTurn(&items)) {
    const Status metrics = CommitMetrics();
    if (!metrics.ok() && metrics_writer_.durable()) {
      FailRange(&items, 0, items.size(), metrics);
    } else {
      CommitGroup(&items);
    }
    for (Item& item : items) {
      if (item.done) item.done(std::move(item.result));
    }
    items.clear();
  }
}

// Waits for work; false when the catalog closes and everything is done.
bool CatalogWriter::TakeTurn(std::vector<Item>* items) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return stopping_ || !items_.empty() || !changes_.empty(); };
  if (metrics_writer_.empty()) {
    wake_.wait(lock, ready);
  } else {
    wake_.wait_for(lock, kRetryPause, ready);
  }
  if (stopping_ && items_.empty() && changes_.empty()) {
    if (!metrics_writer_.empty()) (void)CommitMetrics();
    return false;
  }
  items->swap(items_);
  metrics_writer_.Add(std::exchange(changes_, {}));
  return true;
}

Status CatalogWriter::CommitMetrics() {
  Status status = metrics_writer_.Commit();
  if (IsFatal(status)) EndProcess(status);
  return status;
}

void CatalogWriter::FailRange(std::vector<Item>* items, size_t begin, size_t end, const Status& status) {
  for (size_t i = begin; i < end; ++i) {
    if ((*items)[i].result.ok()) (*items)[i].result = status;
  }
}

// Runs works from `begin` inside the open transaction. Stops early, after the work at the returned index - 1,
// if SQLite gave up the whole transaction (no space, no memory): the works before share its fate.
size_t CatalogWriter::RunWorks(std::vector<Item>* items, size_t begin,
                               std::vector<std::function<void()>>* actions) {
  Transaction transaction(catalog_.get());
  for (size_t i = begin; i < items->size(); ++i) {
    Item& item = (*items)[i];
    item.result = transaction.Run("SAVEPOINT work");
    if (item.result.ok()) item.result = item.work(transaction);
    auto wanted = transaction.TakeActions();
    if (sqlite3_get_autocommit(catalog_.get()) != 0) {
      if (item.result.ok())
        item.result = Status(ErrorCode::DISK_FULL, "the catalog's transaction was given up");
      FailRange(items, begin, i, item.result);
      actions->clear();
      return i + 1;
    }
    if (item.result.ok()) {
      item.result = transaction.Run("RELEASE work");
      actions->insert(actions->end(), std::make_move_iterator(wanted.begin()),
                      std::make_move_iterator(wanted.end()));
    } else {
      (void)transaction.Run("ROLLBACK TO work");
      (void)transaction.Run("RELEASE work");
    }
  }
  return items->size();
}

// COMMIT. Failing storage ends the process; a full disk undoes the group.
Status CatalogWriter::CommitWorks() {
  Connection connection(catalog_.get());
  Status status = PassFaultPoint(FaultPoint::catalog_before_commit);
  if (status.ok()) status = CountCommit(catalog_.get());
  if (status.ok()) {
    status = connection.Run("COMMIT");
    if (IsFatal(status)) EndProcess(status);
  }
  if (status.ok()) (void)witness_->Write(++commits_);  // saying too little is no harm
  if (!status.ok() && sqlite3_get_autocommit(catalog_.get()) == 0) (void)connection.Run("ROLLBACK");
  return status;
}

void CatalogWriter::CommitGroup(std::vector<Item>* items) {
  Connection connection(catalog_.get());
  size_t begin = 0;
  while (begin < items->size()) {
    const Status begun = connection.Run("BEGIN IMMEDIATE");
    if (!begun.ok()) {
      FailRange(items, begin, items->size(), begun);
      return;
    }
    std::vector<std::function<void()>> actions;
    const size_t end = RunWorks(items, begin, &actions);
    if (sqlite3_get_autocommit(catalog_.get()) == 0) {
      const Status committed = CommitWorks();
      if (!committed.ok()) FailRange(items, begin, end, committed);
      if (committed.ok()) {
        (void)PassFaultPoint(FaultPoint::catalog_after_commit);
        for (const auto& action : actions) action();
      }
    }
    begin = end;
  }
}

Result<OpenDatabase> OpenOne(const std::string& path, std::span<const Migration> migrations,
                             const std::string& vfs) {
  OpenDatabase database;
  TRAIND_ASSIGN(database.handle, OpenForWriting(path, vfs));
  TRAIND_TRY(Migrate(database.handle.get(), migrations, path));
  TRAIND_ASSIGN(database.witness, Witness::Open(path, vfs));
  TRAIND_TRY(CheckWitness(database.handle.get(), *database.witness, path, &database.commits));
  return database;
}

}  // namespace

Status Catalog::Write(std::function<Status(Transaction&)> work) {
  std::mutex mutex;
  std::condition_variable arrived;
  bool done = false;
  Status result;
  Submit(std::move(work), [&](Status status) {
    const std::lock_guard lock(mutex);
    result = std::move(status);
    done = true;
    arrived.notify_one();
  });
  std::unique_lock lock(mutex);
  arrived.wait(lock, [&] { return done; });
  return result;
}

Result<std::unique_ptr<Catalog>> Catalog::Open(const std::string& state_directory) {
  return Open(state_directory, OpenOptions{});
}

Result<std::unique_ptr<Catalog>> Catalog::Open(const std::string& state_directory,
                                               const OpenOptions& options) {
  QueryMemory::Install();
  TRAIND_ASSIGN(OpenDatabase catalog,
                OpenOne(CatalogPath(state_directory), CatalogMigrations(), options.vfs));
  TRAIND_ASSIGN(OpenDatabase metrics,
                OpenOne(MetricsPath(state_directory), MetricsMigrations(), options.vfs));
  return std::unique_ptr<Catalog>(
      std::make_unique<CatalogWriter>(state_directory, options, std::move(catalog), std::move(metrics)));
}

}  // namespace traind::daemon
