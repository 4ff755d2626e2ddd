// The catalog's tables, as numbered steps from an empty file to today's form.
#include "daemon/catalog/migrations.h"

#include <fmt/format.h>

#include <string>

#include "daemon/catalog/prepared.h"
#include "daemon/catalog/sqlite_status.h"

namespace traind::daemon {
namespace {

// Marks our files: "trnd".
constexpr int64_t kApplicationId = 0x74726e64;

// Specifications are JSON objects (spec's XToJson); times are wall seconds. _commits is the witness' count.
constexpr std::string_view kCatalog1 = R"sql(
CREATE TABLE _commits(number INTEGER NOT NULL) STRICT;
INSERT INTO _commits VALUES (0);

CREATE TABLE _models(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  spec TEXT NOT NULL,
  architecture TEXT NOT NULL,
  parameters INTEGER NOT NULL,
  created_at REAL NOT NULL) STRICT;

CREATE TABLE _versions(
  id INTEGER PRIMARY KEY,
  model_id INTEGER NOT NULL REFERENCES _models(id) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  job_id INTEGER NOT NULL,
  step INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  val_loss REAL,
  path TEXT NOT NULL,
  created_at REAL NOT NULL,
  UNIQUE(model_id, version)) STRICT;

CREATE TABLE _datasets(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  spec TEXT NOT NULL,
  tokens INTEGER,
  documents INTEGER,
  bytes INTEGER,
  created_at REAL NOT NULL) STRICT;

CREATE TABLE _jobs(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  model_id INTEGER NOT NULL,
  target_model_id INTEGER NOT NULL,
  model TEXT NOT NULL,
  target_model TEXT NOT NULL,
  from_version INTEGER NOT NULL,
  to_version INTEGER,
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '',
  model_spec TEXT NOT NULL,
  training TEXT NOT NULL,
  budget TEXT NOT NULL,
  data TEXT NOT NULL,
  validation TEXT,
  plan TEXT NOT NULL,
  devices TEXT NOT NULL,
  resume_checkpoint TEXT NOT NULL DEFAULT '',
  statement TEXT NOT NULL,
  canonical TEXT NOT NULL,
  client_token TEXT UNIQUE,
  labels TEXT NOT NULL DEFAULT '{}',
  priority INTEGER NOT NULL DEFAULT 0,
  retries_left INTEGER NOT NULL,
  max_retries INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  step INTEGER NOT NULL DEFAULT 0,
  total_steps INTEGER NOT NULL DEFAULT 0,
  submitted_at REAL NOT NULL,
  started_at REAL,
  ended_at REAL,
  used_seconds REAL NOT NULL DEFAULT 0,
  gpu_seconds REAL NOT NULL DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0,
  predicted_peak_bytes INTEGER NOT NULL DEFAULT 0,
  peak_bytes INTEGER,
  predicted_step_ms REAL NOT NULL DEFAULT 0,
  step_ms REAL,
  data_tokens INTEGER NOT NULL DEFAULT 0,
  validation_tokens INTEGER NOT NULL DEFAULT 0,
  directory TEXT NOT NULL) STRICT;
CREATE INDEX _jobs_by_name ON _jobs(name);
CREATE INDEX _jobs_by_state ON _jobs(state);

CREATE TABLE _job_settings(
  job_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  source TEXT NOT NULL,
  PRIMARY KEY(job_id, name)) STRICT, WITHOUT ROWID;

CREATE TABLE _attempts(
  job_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  devices TEXT NOT NULL,
  pid INTEGER,
  started_at REAL NOT NULL,
  ended_at REAL,
  outcome TEXT,
  PRIMARY KEY(job_id, attempt)) STRICT, WITHOUT ROWID;
CREATE INDEX _attempts_open ON _attempts(job_id) WHERE ended_at IS NULL;

CREATE TABLE _checkpoints(
  job_id INTEGER NOT NULL,
  step INTEGER NOT NULL,
  path TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  val_loss REAL,
  state TEXT NOT NULL,
  created_at REAL NOT NULL,
  PRIMARY KEY(job_id, step)) STRICT, WITHOUT ROWID;

CREATE TABLE _events(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id INTEGER NOT NULL,
  time REAL NOT NULL,
  kind TEXT NOT NULL,
  detail TEXT NOT NULL) STRICT;
CREATE INDEX _events_by_job ON _events(job_id);

CREATE TABLE _devices(
  node TEXT NOT NULL,
  idx INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  spec TEXT NOT NULL,
  probed_at REAL NOT NULL,
  PRIMARY KEY(node, idx)) STRICT, WITHOUT ROWID;

CREATE TABLE _settings(
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL) STRICT, WITHOUT ROWID;
)sql";

// What data sets are made of besides text.
constexpr std::string_view kCatalog2 = R"sql(
ALTER TABLE _datasets ADD COLUMN files INTEGER;
ALTER TABLE _datasets ADD COLUMN largest_token INTEGER;
)sql";

constexpr std::string_view kCatalog3 = R"sql(
CREATE TABLE _tokenizers(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  vocab_size INTEGER NOT NULL,
  end_of_text TEXT NOT NULL,
  end_of_text_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  statement TEXT NOT NULL,
  created_at REAL NOT NULL) STRICT;
)sql";

constexpr std::string_view kMetrics1 = R"sql(
CREATE TABLE _commits(number INTEGER NOT NULL) STRICT;
INSERT INTO _commits VALUES (0);

CREATE TABLE _metrics(
  job_id INTEGER NOT NULL,
  step INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  loss REAL,
  val_loss REAL,
  learning_rate REAL,
  grad_norm REAL,
  tokens_per_second REAL,
  mfu REAL,
  time REAL,
  PRIMARY KEY(job_id, step)) STRICT, WITHOUT ROWID;
CREATE INDEX _metrics_validated ON _metrics(job_id, step) WHERE val_loss IS NOT NULL;
)sql";

constexpr Migration kCatalog[] = {{1, kCatalog1}, {2, kCatalog2}, {3, kCatalog3}};
constexpr Migration kMetrics[] = {{1, kMetrics1}};

Status RunScript(sqlite3* handle, const std::string& sql) {
  const int code = sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : SqliteStatus(handle, code, "the catalog's tables");
}

Result<int64_t> ReadNumber(sqlite3* handle, std::string_view sql) {
  Connection connection(handle);
  TRAIND_ASSIGN(const auto row, connection.QueryRow(sql));
  if (!row || row->empty() || !std::holds_alternative<int64_t>(row->front())) return int64_t{0};
  return std::get<int64_t>(row->front());
}

Status CheckOwner(sqlite3* handle, int64_t version, int64_t newest, std::string_view path) {
  if (version > newest) {
    return {ErrorCode::STATE_UNUSABLE,
            fmt::format("{} has form {}; this traind knows forms up to {}", path, version, newest),
            "it was made by a newer traind: use that, or another state directory"};
  }
  TRAIND_ASSIGN(const int64_t tables, ReadNumber(handle, "SELECT count(*) FROM sqlite_master"));
  TRAIND_ASSIGN(const int64_t application, ReadNumber(handle, "PRAGMA application_id"));
  if (tables > 0 && application != kApplicationId) {
    return {ErrorCode::STATE_UNUSABLE, fmt::format("{} is a database, but not traind's", path),
            "use another state directory"};
  }
  return {};
}

}  // namespace

std::span<const Migration> CatalogMigrations() {
  return kCatalog;
}

std::span<const Migration> MetricsMigrations() {
  return kMetrics;
}

Status Migrate(sqlite3* handle, std::span<const Migration> migrations, std::string_view path) {
  TRAIND_ASSIGN(const int64_t version, ReadNumber(handle, "PRAGMA user_version"));
  TRAIND_TRY(CheckOwner(handle, version, migrations.back().version, path));
  for (const Migration& migration : migrations) {
    if (migration.version <= version) continue;
    const std::string sql =
        fmt::format("BEGIN IMMEDIATE; PRAGMA application_id={}; {} PRAGMA user_version={}; COMMIT",
                    kApplicationId, migration.sql, migration.version);
    Status status = RunScript(handle, sql);
    if (!status.ok()) {
      if (sqlite3_get_autocommit(handle) == 0) (void)RunScript(handle, "ROLLBACK");
      return status;
    }
  }
  return {};
}

}  // namespace traind::daemon
