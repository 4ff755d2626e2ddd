// The catalog: opening, groups of writes, metrics, readers.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "daemon/catalog/catalog.h"
#include "engine/base/fault.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

using testing::TemporaryState;

Status AddModel(Transaction& transaction, const std::string& name) {
  return transaction.Run(
      "INSERT INTO _models(name, spec, architecture, parameters, created_at) VALUES (?1,'{}','llama',1,0.0)",
      {name});
}

int64_t Number(Connection& connection, std::string_view sql) {
  const auto row = connection.QueryRow(sql);
  assert_ok(row);
  return *row && std::holds_alternative<int64_t>((**row)[0]) ? std::get<int64_t>((**row)[0]) : -1;
}

MetricRow Row(int64_t step, double loss) {
  MetricRow row;
  row.step = step;
  row.tokens = step * 10;
  row.loss = loss;
  return row;
}

void OpensEmptyAndAgain(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  assert_ok(state.catalog().Write([](Transaction& t) { return AddModel(t, "m"); }));
  assert_ok(state.Open());
  assert_int_equal(Number(*state.NewReader(), "SELECT count(*) FROM sys_models"), 1);
}

void FailedWorkLeavesItsGroupAlone(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  std::atomic<int> left{3};
  Status results[3];
  std::atomic<int> notified{0};
  const char* names[] = {"a", "b", "a"};  // the third breaks UNIQUE
  // Held up behind a slow work, the three share a group.
  state.catalog().Submit(
      [](Transaction&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return Status();
      },
      [](const Status&) {});
  for (int i = 0; i < 3; ++i) {
    state.catalog().Submit(
        [&, i](Transaction& t) {
          t.AfterCommit([&] { ++notified; });
          TRAIND_TRY(t.Run("INSERT INTO _settings(name, value) VALUES (?1, 'x')", {std::to_string(i)}));
          return AddModel(t, names[i]);
        },
        [&, i](Status status) {
          results[i] = std::move(status);
          --left;
        });
  }
  while (left.load() > 0) std::this_thread::yield();
  assert_ok(results[0]);
  assert_ok(results[1]);
  assert_code(results[2], ErrorCode::SQL);
  assert_int_equal(notified.load(), 2);
  auto reader = state.NewReader();
  assert_int_equal(Number(*reader, "SELECT count(*) FROM main._models"), 2);
  assert_int_equal(Number(*reader, "SELECT count(*) FROM main._settings"),
                   2);  // the third's part is undone too
}

void MetricsReplaceAndTrim(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  Catalog& catalog = state.catalog();
  catalog.SubmitMetrics(1, {Row(1, 5), Row(2, 4), Row(3, 3)}, false);
  catalog.TrimMetrics(1, 1);
  catalog.SubmitMetrics(1, {Row(2, 4.5)}, true);
  catalog.SubmitMetrics(2, {Row(1, 9)}, false);
  assert_ok(
      catalog.Write([](Transaction&) { return Status(); }));  // whatever was queued before is visible now
  auto reader = state.NewReader();
  auto table = reader->UserQuery("SELECT step, loss FROM sys_metrics WHERE job = 1 ORDER BY step", {}, 10);
  assert_ok(table);
  assert_int_equal(table->rows.size(), 2);
  assert_true(std::get<double>(table->rows[1][1]) == 4.5);
}

void MetricsOutliveTheirCatalog(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  state.catalog().SubmitMetrics(1, {Row(1, 5)}, false);
  assert_ok(state.Open());  // closing finishes what is queued
  assert_int_equal(Number(*state.NewReader(), "SELECT count(*) FROM sys_metrics"), 1);
}

void FaultBeforeCommitUndoesTheGroup(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  assert_ok(ArmFaultPoint("catalog_before_commit=error"));
  assert_code(state.catalog().Write([](Transaction& t) { return AddModel(t, "m"); }), ErrorCode::IO);
  assert_ok(ArmFaultPoint(""));
  assert_int_equal(Number(*state.NewReader(), "SELECT count(*) FROM sys_models"), 0);
  assert_ok(state.catalog().Write([](Transaction& t) { return AddModel(t, "m"); }));
}

void OthersSeeOnlyWhatIsCommitted(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  auto reader = state.NewReader();
  assert_ok(state.catalog().Write([&](Transaction& t) {
    TRAIND_TRY(AddModel(t, "m"));
    return Number(*reader, "SELECT count(*) FROM sys_models") == 0 ? Status()
                                                                   : Status(ErrorCode::INTERNAL, "seen");
  }));
  assert_int_equal(Number(*reader, "SELECT count(*) FROM sys_models"), 1);
}

void RefusesANewerForm(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  assert_ok(state.catalog().Write([](Transaction& t) { return t.Run("PRAGMA user_version = 99"); }));
  assert_code(state.Open(), ErrorCode::STATE_UNUSABLE);
}

// After a crash a user may look at the files with SQLite's own shell, which then copies the log into the
// file.
void AnotherProgramMayCopyTheLog(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  for (int i = 0; i < 50; ++i) {
    assert_ok(state.catalog().Write([&](Transaction& t) { return AddModel(t, "m" + std::to_string(i)); }));
  }
  const std::string copy = state.path() + "/copy";
  std::filesystem::create_directory(copy);
  for (const char* name :
       {"catalog.db", "catalog.db-wal", "catalog.db-commits", "metrics.db", "metrics.db-wal"}) {
    std::filesystem::copy_file(state.path() + "/" + name, copy + "/" + name);
  }
  assert_int_equal(
      std::system(
          ("python3 -c \"import sqlite3; c=sqlite3.connect('" + copy +
           "/catalog.db'); assert c.execute('PRAGMA integrity_check').fetchone()==('ok',); c.close()\"")
              .c_str()),
      0);
  assert_false(std::filesystem::exists(copy + "/catalog.db-wal"));
  auto catalog = Catalog::Open(copy);
  assert_ok(catalog);
  auto reader = (*catalog)->OpenReader();
  assert_int_equal(Number(**reader, "SELECT count(*) FROM sys_models"), 50);
}

void RefusesAForeignFile(void**) {
  TemporaryState state;
  std::ofstream(state.path() + "/catalog.db") << std::string(8192, 'x');
  const Status status = state.Open();
  assert_code(status, ErrorCode::DAMAGED_CATALOG);
  assert_true(status.message().find(state.path() + "/catalog.db") != std::string::npos);
  assert_false(status.hint().empty());
}

void ManyWritersShareCommits(void**) {
  TemporaryState state;
  assert_ok(state.Open());
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 50; ++j) {
        const std::string name = std::to_string(i) + "_" + std::to_string(j);
        if (!state.catalog().Write([&](Transaction& t) { return AddModel(t, name); }).ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  assert_int_equal(failures.load(), 0);
  assert_int_equal(Number(*state.NewReader(), "SELECT count(*) FROM sys_models"), 400);
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(OpensEmptyAndAgain),
      cmocka_unit_test(FailedWorkLeavesItsGroupAlone),
      cmocka_unit_test(MetricsReplaceAndTrim),
      cmocka_unit_test(MetricsOutliveTheirCatalog),
      cmocka_unit_test(FaultBeforeCommitUndoesTheGroup),
      cmocka_unit_test(OthersSeeOnlyWhatIsCommitted),
      cmocka_unit_test(RefusesANewerForm),
      cmocka_unit_test(AnotherProgramMayCopyTheLog),
      cmocka_unit_test(RefusesAForeignFile),
      cmocka_unit_test(ManyWritersShareCommits),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
