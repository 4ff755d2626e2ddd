// SHOW, SELECT, ASSERT, SET, RESET, LET, INCLUDE, HELP.
#include "tests/unit/daemon/statement_fixture.h"

namespace traind::daemon {
namespace {

using Fixture = testing::StatementFixture;

MetricRow Metric(int64_t step) {
  MetricRow row;
  row.step = step;
  row.tokens = step * 1024;
  row.loss = 6.0 - 0.1 * static_cast<double>(step);
  if (step % 2 == 0) row.val_loss = row.loss + 0.5;
  return row;
}

// A job with five steps of metrics and a log.
class RunFixture : public Fixture {
 public:
  RunFixture() {
    Make();
    Do("TRAIN MODEL tiny AS j FROM lic FOR 100 STEPS");
    Start(1);
    for (int64_t step = 1; step <= 5; ++step) AddMetric(step);
    std::filesystem::create_directories(directory() + "/jobs/1");
    WriteFile("jobs/1/worker.log", "one\ntwo\nthree\nunfinished");
  }
  void AddMetric(int64_t step) {
    catalog().SubmitMetrics(1, {Metric(step)}, false);
    assert_ok(Write([](Transaction&) { return Status(); }));
  }
};

void JobsShowTheirProgress(void**) {
  RunFixture fixture;
  assert_text(fixture.Rows("SELECT step, tokens, loss, val_loss FROM sys_jobs"), "5|5120|5.500000|6.100000");
  assert_text(fixture.Rows("SHOW JOBS WHERE state = 'RUNNING' ORDER BY priority DESC LIMIT 20"),
              fixture.Rows("SHOW JOBS"));
  assert_text(fixture.Rows("SHOW JOBS WHERE loss < 1"), "");
  assert_int_equal(fixture.Do("SHOW JOB 1").columns.size(), 24);
}

void ShowTakesConditions(void**) {
  RunFixture fixture;
  assert_int_equal(fixture.Do("SHOW METRICS FOR JOB 1 LIMIT 2").rows.size(), 2);
  assert_int_equal(fixture.Do("SHOW METRICS FOR JOB j WHERE val_loss IS NOT NULL").rows.size(), 2);
  const Reply reversed = fixture.Do("SHOW METRICS ORDER BY step DESC LIMIT 1");
  assert_text(Fixture::TextOf(reversed.rows[0][1]), "5");
  assert_int_equal(fixture.Do("SHOW METRICS WHERE tokens >= 3Ki").rows.size(), 3);
  assert_int_equal(fixture.Do("SHOW METRICS WHERE step = 1 OR step = 2").rows.size(), 2);
  assert_int_equal(fixture.Do("SHOW METRICS FOR JOB 1 WHERE job = 2 OR step = 2").rows.size(),
                   1);  // FOR JOB holds
  assert_int_equal(fixture.Do("SHOW METRICS LIMIT 0").rows.size(), 0);
  fixture.Do("LET $n = 2; LET $s = 3");
  assert_int_equal(fixture.Do("SHOW METRICS WHERE step >= $s LIMIT $n").rows.size(), 2);
  assert_text(fixture.Error("SHOW METRICS WHERE nothing = 1"), "SQL 20");
  assert_text(fixture.Error("SHOW METRICS WHERE step = 1 ORDER BY nothing"), "SQL 38");
  assert_text(fixture.Error("SHOW METRICS WHERE step = $none"), "UNBOUND_PARAMETER 27");
  assert_text(fixture.Error("SHOW METRICS FOR JOB 7"), "NO_SUCH_JOB 22");
  assert_text(fixture.Error("SHOW VERSIONS OF nobody"), "NO_SUCH_MODEL 18");
  assert_text(fixture.Error("SHOW METRICS LIMIT 1.5"), "INVALID_OPTION 20");
  assert_text(fixture.Error("SHOW METRICS WHERE (SELECT count(*) FROM _jobs) > 0"), "READ_ONLY 20");
}

void OtherListsShow(void**) {
  RunFixture fixture;
  assert_int_equal(fixture.Do("SHOW EVENTS FOR JOB 1").rows.size(), 3);
  assert_int_equal(fixture.Do("SHOW CHECKPOINTS FOR JOB 1").rows.size(), 0);
  const Reply gpus = fixture.Do("SHOW GPUS WHERE free_bytes >= 1GiB");
  assert_int_equal(gpus.rows.size(), 1);
  assert_int_equal(fixture.Do("SHOW GPUS WHERE free_bytes >= 100GiB").rows.size(), 0);
  for (const Column& column : gpus.columns) {
    if (column.name == "free_bytes") assert_text(column.type, "bytes");
  }
  assert_int_equal(fixture.Do("SHOW VERSION").rows.size(), 1);
}

void FollowGoesOn(void**) {
  RunFixture fixture;
  auto outcome = fixture.Run("SHOW METRICS FOR JOB 1 WHERE step <> 6 LIMIT 2 FOLLOW");
  assert_ok(outcome);
  auto* follow = std::get_if<FollowOutcome>(&*outcome);
  assert_non_null(follow);
  assert_int_equal(follow->job, 1);
  assert_int_equal(follow->reply.columns.size(), 10);
  assert_int_equal(follow->reply.rows.size(), 2);
  assert_text(Fixture::TextOf(follow->reply.rows[0][1]), "4");  // the newest two come first
  auto more = follow->next(*fixture.reader, &follow->after);
  assert_ok(more);
  assert_int_equal(more->size(), 0);
  fixture.AddMetric(6);
  fixture.AddMetric(7);
  more = follow->next(*fixture.reader, &follow->after);
  assert_int_equal(more->size(), 1);
  assert_text(Fixture::TextOf((*more)[0][1]), "7");
  assert_int_equal((*more)[0].size(), 10);
  assert_int_equal(follow->next(*fixture.reader, &follow->after)->size(), 0);

  auto events = fixture.Run("SHOW EVENTS FOLLOW");
  follow = std::get_if<FollowOutcome>(&*events);
  assert_int_equal(follow->reply.rows.size(), 3);
  fixture.Do("PAUSE JOB 1");
  assert_text(Fixture::TextOf(*follow->next(*fixture.reader, &follow->after)),
              "1|1796000000.000000|request|pause");

  assert_text(fixture.Error("SHOW METRICS FOLLOW"), "MISSING_OPTION 1");
  assert_text(fixture.Error("SHOW METRICS FOR JOB 1 ORDER BY step FOLLOW"), "INVALID_OPTION 33");
}

void LogsAreLines(void**) {
  RunFixture fixture;
  assert_text(fixture.Rows("SHOW LOGS FOR JOB 1"), "one;two;three;unfinished");
  assert_text(fixture.Rows("SHOW LOGS FOR JOB 1 WHERE line LIKE 't%' LIMIT 1"), "two");
  assert_text(fixture.Rows("SHOW LOGS FOR JOB 1 ORDER BY line LIMIT 2"), "one;three");
  auto outcome = fixture.Run("SHOW LOGS FOR JOB 1 LIMIT 1 FOLLOW");
  auto* follow = std::get_if<FollowOutcome>(&*outcome);
  assert_text(Fixture::TextOf(follow->reply), "three");
  fixture.WriteFile("jobs/1/worker.log", "one\ntwo\nthree\nunfinished no more\nand");
  assert_text(Fixture::TextOf(*follow->next(*fixture.reader, &follow->after)), "unfinished no more");
  assert_text(Fixture::TextOf(*follow->next(*fixture.reader, &follow->after)), "");
  fixture.WriteFile("jobs/1/worker.log", "cut\n");
  assert_text(Fixture::TextOf(*follow->next(*fixture.reader, &follow->after)), "cut");
  assert_text(fixture.Error("SHOW LOGS"), "MISSING_OPTION 1");
  fixture.WriteFile("jobs/1/worker.log", std::string(200000, 'x') + "\xff\n\n");
  assert_int_equal(fixture.Do("SHOW LOGS FOR JOB 1").rows.size(), 5);
  std::filesystem::remove(fixture.directory() + "/jobs/1/worker.log");
  assert_text(fixture.Rows("SHOW LOGS FOR JOB 1"), "");
}

void SelectSpeaksTheLanguagesUnits(void**) {
  RunFixture fixture;
  assert_text(fixture.Rows("SELECT node, type FROM sys_gpus WHERE free_bytes >= 4GiB"), "local|cpu");
  assert_text(fixture.Rows("SELECT 1Ki, 90s, 1.5, -2"), "1024|90|1.500000|-2");
  assert_text(fixture.Rows("WITH a AS (SELECT 1 AS x) SELECT x FROM a"), "1");
  assert_text(fixture.Rows("SELECT 'a,b', 'c\"d'"), "a,b|c\"d");
  fixture.Do("LET $x = 'o''clock'; LET $y = 2");
  assert_text(fixture.Rows("SELECT $x, $y + 1"), "o'clock|3");
  fixture.parameters["1"].kind = grammar::Value::Kind::kWord;
  fixture.parameters["1"].text = "null";
  assert_text(fixture.Rows("SELECT ? IS NULL"), "1");
  assert_text(fixture.Error("SELECT $none"), "UNBOUND_PARAMETER 8");
  assert_text(fixture.Error("SELECT nothing FROM sys_jobs"), "SQL 8");
  assert_text(fixture.Error("SELECT 24GiB, nothing FROM sys_jobs"), "SQL 15");
  assert_text(fixture.Error("SELECT * FROM jobs"), "SQL 15");
  assert_true(fixture.Message("SELECT * FROM jobs")
                  .starts_with("no such table: jobs | did you mean sys_jobs? the views are"));
  assert_true(fixture.Message("SELECT * FROM sys_job").find("did you mean sys_jobs?") != std::string::npos);
  assert_true(fixture.Message("SELECT * FROM elsewhere").find("did you mean") == std::string::npos);
  assert_text(fixture.Error("SELECT 1, nothing(2)"), "SQL 11");
  assert_text(fixture.Error("SELECT * FROM sys_jobs WHERE"), "SQL 29");
}

void OutputRowsAreSaid(void**) {
  RunFixture fixture;
  fixture.Do("SET output_rows = 2");
  const Reply reply = fixture.Do("SHOW METRICS");
  assert_int_equal(reply.rows.size(), 2);
  assert_int_equal(reply.notices.size(), 1);
  assert_int_equal(fixture.Do("SHOW METRICS LIMIT 2").notices.size(), 0);
  fixture.Do("RESET output_rows");
  assert_int_equal(fixture.Do("SHOW METRICS").rows.size(), 5);
}

void SettingsHaveTypes(void**) {
  Fixture fixture;
  fixture.Do(
      "SET output_rows = 100; SET checkpoint_every = 1h30m; SET lr_scheduler_type = linear; SET "
      "learning_rate = 1e-3");
  assert_text(fixture.Rows("SHOW SETTINGS WHERE source = 'session'"),
              "checkpoint_every|90m|session;learning_rate|0.001|session;lr_scheduler_type|linear|session;"
              "output_rows|100|session");
  assert_text(fixture.Rows("SELECT value, source FROM sys_settings WHERE name = 'retries'"), "3|default");
  assert_text(fixture.Error("SET output_row = 1"), "NO_SUCH_SETTING 5");
  assert_true(fixture.Message("SET output_row = 1").find("output_rows") != std::string::npos);
  assert_text(fixture.Error("SET output_rows = 1GiB"), "WRONG_UNIT 19");
  assert_text(fixture.Error("SET output_rows = many"), "INVALID_OPTION 5");
  assert_text(fixture.Error("SET output_rows = -1"), "INVALID_OPTION 5");
  assert_text(fixture.Error("SET checkpoint_every = 10"), "WRONG_UNIT 24");
  assert_text(fixture.Error("SET lr_scheduler_type = cosin"), "INVALID_OPTION 25");
  assert_text(fixture.Error("SET precision = fp8"), "UNKNOWN_PRECISION 17");
  assert_text(fixture.Error("RESET nothing"), "NO_SUCH_SETTING 7");
  fixture.Do("RESET learning_rate");
  assert_int_equal(fixture.session.settings.size(), 3);
  fixture.Do("RESET");
  assert_int_equal(fixture.session.settings.size(), 0);
}

void LetBindsValues(void**) {
  Fixture fixture;
  fixture.Do("LET $d = 'data'; LET $e = $d; LET $d = 4h");
  assert_text(fixture.Rows("SELECT $d, $e"), "14400|data");
  assert_text(fixture.Error("LET $a = $none"), "UNBOUND_PARAMETER 10");
}

void AssertHoldsOrFails(void**) {
  Fixture fixture;
  fixture.Do("ASSERT 1 < 2, 'arithmetic'; ASSERT (SELECT count(*) FROM sys_jobs) = 0");
  assert_text(fixture.Error("ASSERT 1 > 2, 'no'"), "ASSERTION_FAILED 8");
  assert_true(fixture.Message("ASSERT 1 > 2, 'no'").starts_with("no |"));
  assert_true(fixture.Message("ASSERT 1 > 2").find("1 > 2") != std::string::npos);
  assert_text(fixture.Error("ASSERT NULL"), "ASSERTION_FAILED 8");
  assert_text(fixture.Error("ASSERT (SELECT 1 FROM sys_jobs)"), "ASSERTION_FAILED 8");
  assert_text(fixture.Error("ASSERT nothing = 1"), "SQL 8");
  assert_ok(fixture.Run("ASSERT 1 > 2", true));  // only checked
  fixture.Do("LET $m = 'said'");
  assert_true(fixture.Message("ASSERT 0, $m").starts_with("said |"));
}

void IncludeParsesTheWholeFile(void**) {
  Fixture fixture;
  fixture.WriteFile("common.tql", "SET output_rows = 1;\nSHOW JOBS;\n");
  assert_text(fixture.Rows("INCLUDE 'common.tql'"),
              fixture.directory() + "/common.tql|SET output_rows = 1;\nSHOW JOBS;\n");
  fixture.WriteFile("bad.tql", "SHOW JOBS;\nTRAIN MODEL;\nSHOW;\n");
  assert_text(fixture.Error("INCLUDE 'bad.tql'"), "SYNTAX 9");
  assert_true(fixture.Message("INCLUDE 'bad.tql'").find("bad.tql:2:12: ") != std::string::npos);
  assert_text(fixture.Error("INCLUDE 'none.tql'"), "FILE_NOT_FOUND 9");
  assert_text(fixture.Error("INCLUDE '.'"), "NOT_A_REGULAR_FILE 9");
  assert_text(fixture.Error("INCLUDE ''"), "INVALID_OPTION 9");
  fixture.WriteFile("big.tql", std::string(1 << 20, ' '));
  assert_text(fixture.Error("INCLUDE 'big.tql'"), "IO 9");
}

void HelpKnowsItsWords(void**) {
  Fixture fixture;
  assert_int_equal(fixture.Do("HELP").rows.size(), grammar::AllStatements().size());
  const Reply train = fixture.Do("HELP TRAIN");
  assert_true(Fixture::Item(train, "synopsis").starts_with("TRAIN"));
  assert_true(Fixture::Item(train, "learning_rate").find("3e-4") != std::string::npos);
  assert_true(Fixture::Item(fixture.Do("HELP create model"), "hidden_size") != "(none)");
  assert_int_equal(fixture.Do("HELP CREATE").rows.size(), 6);
  assert_true(Fixture::Item(fixture.Do("HELP output_rows"), "output_rows") != "(none)");
  assert_true(Fixture::Item(fixture.Do("HELP NO_SUCH_MODEL"), "NO_SUCH_MODEL").find("exit code 1") !=
              std::string::npos);
  assert_true(Fixture::Item(fixture.Do("HELP sys_jobs"), "sys_jobs").find("from_version") !=
              std::string::npos);
  assert_text(fixture.Error("HELP TRIAN"), "NO_SUCH_TOPIC 1");
  assert_true(fixture.Message("HELP TRIAN").find("TRAIN") != std::string::npos);
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(JobsShowTheirProgress),
      cmocka_unit_test(ShowTakesConditions),
      cmocka_unit_test(OtherListsShow),
      cmocka_unit_test(FollowGoesOn),
      cmocka_unit_test(LogsAreLines),
      cmocka_unit_test(SelectSpeaksTheLanguagesUnits),
      cmocka_unit_test(OutputRowsAreSaid),
      cmocka_unit_test(SettingsHaveTypes),
      cmocka_unit_test(LetBindsValues),
      cmocka_unit_test(AssertHoldsOrFails),
      cmocka_unit_test(IncludeParsesTheWholeFile),
      cmocka_unit_test(HelpKnowsItsWords),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
