// A user's SELECT: what it may read, what is refused, limits and interruption.
#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/catalog/catalog.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

using testing::TemporaryState;

// The promise of the language, column by column.
struct Promise {
  std::string_view view;
  std::string_view columns;
};
constexpr Promise kPromises[] = {
    {"sys_gpus",
     "uuid node idx type kind memory memory_bytes free_bytes reserved_bytes foreign_bytes state emulated "
     "price_per_hour"},
    {"sys_links", "a b type bytes_per_second latency_us"},
    {"sys_models", "name architecture parameters versions"},
    {"sys_versions", "model version job step tokens val_loss path"},
    {"sys_datasets", "name tokens documents bytes format options files largest_token"},
    {"sys_jobs",
     "id name model from_version to_version state reason labels priority step total_steps tokens loss "
     "val_loss "
     "submitted_at started_at ended_at gpu_seconds cost predicted_peak_bytes peak_bytes predicted_step_ms "
     "step_ms "
     "statement"},
    {"sys_metrics", "job step tokens loss val_loss learning_rate grad_norm tokens_per_second mfu time"},
    {"sys_events", "job time kind detail"},
    {"sys_checkpoints", "job step path bytes state val_loss best"},
    {"sys_attempts", "job attempt devices started_at ended_at outcome"},
    {"sys_settings", "name value source"},
    {"sys_job_settings", "job name value source"},
};

class Fixture {
 public:
  Fixture() {
    assert_ok(state_.Open());
    reader = state_.NewReader();
  }
  Result<Reader::Table> Ask(std::string_view sql) { return reader->UserQuery(sql, {}, 1000); }

  std::unique_ptr<Reader> reader;

 private:
  TemporaryState state_;
};

void ViewsHaveTheirColumns(void**) {
  Fixture fixture;
  for (const Promise& promise : kPromises) {
    const auto table = fixture.Ask("SELECT * FROM " + std::string(promise.view));
    assert_ok(table);
    std::string columns;
    for (const std::string& name : table->columns) columns += (columns.empty() ? "" : " ") + name;
    assert_true(columns.starts_with(promise.columns));
    if (promise.view != "sys_gpus" && promise.view != "sys_events") assert_text(columns, promise.columns);
  }
}

void EverythingElseIsRefused(void**) {
  Fixture fixture;
  for (const char* sql : {
           "SELECT * FROM _jobs",
           "SELECT count(*) FROM _jobs",
           "SELECT * FROM main._models",
           "SELECT * FROM metrics._metrics",
           "SELECT * FROM sqlite_master",
           "SELECT count(*) FROM sqlite_schema",
           "SELECT sql FROM sqlite_temp_master",
           "SELECT * FROM temp._live_gpus",
           "SELECT * FROM pragma_table_info('_jobs')",
           "SELECT count(*) FROM pragma_database_list",
           "WITH sys_jobs AS (SELECT * FROM _jobs) SELECT * FROM sys_jobs",
           "SELECT (SELECT max(id) FROM _jobs) FROM sys_jobs",
           "INSERT INTO _settings VALUES ('a','b')",
           "DELETE FROM _jobs",
           "UPDATE _jobs SET state = 'x'",
           "CREATE TABLE t(a)",
           "CREATE TEMP TABLE t(a)",
           "CREATE TEMP VIEW v AS SELECT 1",
           "DROP VIEW sys_jobs",
           "ATTACH DATABASE '/tmp/x.db' AS x",
           "DETACH DATABASE metrics",
           "PRAGMA user_version",
           "PRAGMA query_only=0",
           "VACUUM",
           "VACUUM INTO '/tmp/traind-test-vacuum.db'",
           "BEGIN",
           "SAVEPOINT a",
           "REINDEX",
           "ANALYZE",
           "SELECT load_extension('x')",
           "SELECT fts3_tokenizer('simple')",
           "WITH a AS (SELECT 1) INSERT INTO _settings SELECT 'a', 'b'",
       }) {
    const auto table = fixture.Ask(sql);
    if (table.ok() || table.status().code() != ErrorCode::READ_ONLY) {
      std::fprintf(stderr, "%s: %s\n", sql, table.status().ToString().c_str());
      fail();
    }
  }
}

void OrdinaryQueriesRun(void**) {
  Fixture fixture;
  for (const char* sql : {
           "SELECT 1",
           "SELECT 'a,b', 'c\"d'",
           "SELECT count(*) FROM sys_jobs",
           "WITH jobs AS (SELECT * FROM sys_jobs) SELECT count(*) FROM jobs",
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT sum(i) FROM "
           "n",
           "SELECT j.id, m.step FROM sys_jobs j LEFT JOIN sys_metrics m ON m.job = j.id ORDER BY 1, 2",
           "SELECT j.value FROM json_each('[1,2]') j",
           "SELECT round(sqrt(2), 3), upper('x'), datetime(0, 'unixepoch')",
           "SELECT x'00ff', NULL, 1.5, 9223372036854775807",
           "SELECT state, count(*) OVER (PARTITION BY state) FROM sys_jobs",
           "SELECT * FROM sys_models EXCEPT SELECT * FROM sys_models",
           "VALUES (1), (2)",
       }) {
    assert_ok(fixture.Ask(sql));
  }
}

void ErrorsSayWhere(void**) {
  Fixture fixture;
  const Status column = fixture.Ask("SELECT nothing FROM sys_jobs").status();
  assert_code(column, ErrorCode::SQL);
  assert_int_equal(column.position().line, 1);
  assert_int_equal(column.position().offset, 7);
  const Status table = fixture.Ask("SELECT 1 FROM jobs").status();
  assert_code(table, ErrorCode::SQL);
  assert_true(table.hint().find("sys_jobs") != std::string::npos);
  assert_code(fixture.Ask("SELECT 1; SELECT 2"), ErrorCode::SQL);
  assert_code(fixture.Ask("SELECT"), ErrorCode::SQL);
  assert_code(fixture.Ask(""), ErrorCode::SQL);
}

void ParametersAreBound(void**) {
  Fixture fixture;
  const auto table =
      fixture.reader->UserQuery("SELECT $a, ?, $a", {{"a", Cell(int64_t{7})}, {"2", Cell("x")}}, 10);
  assert_ok(table);
  assert_true(std::get<int64_t>(table->rows[0][2]) == 7);
  assert_text(std::get<std::string>(table->rows[0][1]), "x");
  assert_code(fixture.reader->UserQuery("SELECT $missing", {}, 10), ErrorCode::UNBOUND_PARAMETER);
}

void RowsAreBounded(void**) {
  Fixture fixture;
  constexpr std::string_view kForever =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
  const auto table = fixture.reader->UserQuery(kForever, {}, 5);
  assert_ok(table);
  assert_int_equal(table->rows.size(), 5);
  assert_true(table->more);
  assert_code(fixture.Ask("SELECT length(zeroblob(1000000000))"), ErrorCode::TOO_MANY);
  assert_code(fixture.Ask("SELECT replace(printf('%.*c', 20000000, 'x'), 'x', 'yyyyyyyyyy')"),
              ErrorCode::TOO_MANY);
}

// Promised times are held on a quiet machine only, as in tests/fault.
bool Timed() {
  return std::getenv("TRAIND_FAULT_TIMES") != nullptr;
}

double SecondsUntilInterrupted(Fixture& fixture, std::string_view sql) {
  double seconds = 0;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    fixture.reader->Interrupt();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto table = fixture.Ask(sql);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  other.join();
  assert_code(table, ErrorCode::INTERRUPTED);
  assert_code(fixture.Ask("SELECT 1"), ErrorCode::INTERRUPTED);  // until it is cleared
  fixture.reader->ClearInterrupt();
  assert_ok(fixture.Ask("SELECT 1"));
  return seconds;
}

void EndlessQueriesAreInterrupted(void**) {
  Fixture fixture;
  for (const std::string_view sql : {
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000), "
           "w(i) AS (SELECT a.i FROM n a, n b, n c) SELECT sum(i) FROM w",
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT 1 FROM n WHERE i > 1",
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 1 FROM n WHERE "
           "i || printf('%.*c', 100000, 'a') LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%b'",
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 1 FROM n WHERE "
           "i || printf('%.*c', 100000, 'a') GLOB '*a*a*a*a*a*a*a*a*a*a*a*a*b'",
       }) {
    const double seconds = SecondsUntilInterrupted(fixture, sql);
    if (Timed() && seconds > 1) {
      std::fprintf(stderr, "%.3f s: %s\n", seconds, std::string(sql).c_str());
      fail();
    }
  }
}

// Preparing cannot be interrupted by SQLite's means, and short texts can make it endless.
std::string DoublingExpressions(int levels) {
  std::string sql = "WITH t0 AS (SELECT 1 a)";
  for (int i = 1; i < levels; ++i) {
    const std::string from = "t" + std::to_string(i - 1);
    sql += ", t" + std::to_string(i) + " AS (SELECT x.a FROM " + from + " x, " + from + " y)";
  }
  return sql + " SELECT count(*) FROM t" + std::to_string(levels - 1);
}

std::string DoublingSubselects(int levels) {
  std::string from = "sys_models";
  std::string column = "versions";
  for (int i = 0; i < levels; ++i) {
    std::string sum = column;
    for (int j = 0; j < 20; ++j) sum += "+" + column;
    from = "(SELECT " + sum + " AS a FROM " + from + ")";
    column = "a";
  }
  return "SELECT a FROM " + from;
}

void PreparingIsBounded(void**) {
  Fixture fixture;
  for (const std::string& sql : {DoublingExpressions(40), DoublingSubselects(14)}) {
    assert_code(fixture.Ask(sql), ErrorCode::TOO_MANY);
    assert_code(fixture.reader->CheckUserQuery(sql), ErrorCode::TOO_MANY);
    assert_ok(fixture.Ask("SELECT count(*) FROM sys_jobs"));
    const double seconds = SecondsUntilInterrupted(fixture, sql);
    assert_true(!Timed() || seconds < 1);
  }
}

void LiveRowsShow(void**) {
  Fixture fixture;
  LiveDevice live;
  live.device.uuid = "u";
  live.device.type = "cpu";
  live.device.memory_bytes = 100;
  live.device.free_bytes = 60;
  live.reserved_bytes = 10;
  live.busy = true;
  assert_ok(fixture.reader->SetLive({live}, {{"output_rows", "5", "session"}}));
  assert_ok(fixture.reader->SetLive({live}, {{"output_rows", "5", "session"}}));  // replaces
  const auto gpus = fixture.Ask("SELECT node, state, foreign_bytes FROM sys_gpus WHERE free_bytes >= 50");
  assert_ok(gpus);
  assert_int_equal(gpus->rows.size(), 1);
  assert_text(std::get<std::string>(gpus->rows[0][1]), "ALLOCATED");
  assert_int_equal(std::get<int64_t>(gpus->rows[0][2]), 30);
  assert_int_equal(fixture.Ask("SELECT * FROM sys_nodes")->rows.size(), 1);
  assert_text(std::get<std::string>(fixture.Ask("SELECT value FROM sys_settings")->rows[0][0]), "5");
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ViewsHaveTheirColumns),
      cmocka_unit_test(EverythingElseIsRefused),
      cmocka_unit_test(OrdinaryQueriesRun),
      cmocka_unit_test(ErrorsSayWhere),
      cmocka_unit_test(ParametersAreBound),
      cmocka_unit_test(RowsAreBounded),
      cmocka_unit_test(EndlessQueriesAreInterrupted),
      cmocka_unit_test(PreparingIsBounded),
      cmocka_unit_test(LiveRowsShow),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
