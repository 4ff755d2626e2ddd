// TRAIN and EXPLAIN: defaults and their sources, starts, names, budgets, IF NOT EXISTS, replies.
#include "tests/unit/daemon/statement_fixture.h"

namespace traind::daemon {
namespace {

using Fixture = testing::StatementFixture;

JobRecord Load(Fixture& fixture, int64_t id) {
  const auto job = LoadJob(*fixture.reader, id);
  assert_ok(job);
  return *job;
}

std::string Setting(Fixture& fixture, const std::string& name) {
  return fixture.Rows("SELECT value || ' ' || source FROM sys_job_settings WHERE name = '" + name +
                      "' ORDER BY job DESC LIMIT 1");
}

void Succeed(Fixture& fixture, int64_t id) {
  fixture.Start(id);
  assert_ok(fixture.Write([&](Transaction& t) -> Status {
    TRAIND_ASSIGN(const JobRecord job, LoadJob(t, id));
    TRAIND_TRY(AddVersion(t, job, 1, 100, 3.5, "/v", 1).status());
    return Apply(t, id, JobChange::kSucceed, "", 1).status();
  }));
}

void ReplyHasItsColumns(void**) {
  Fixture fixture;
  fixture.Make();
  const Reply reply = fixture.Do("TRAIN MODEL tiny AS first FROM lic FOR 100 STEPS");
  std::string columns;
  for (const Column& column : reply.columns) columns += column.name + " ";
  assert_text(columns,
              "id name state model from_version to_version devices total_steps predicted_peak_bytes "
              "predicted_step_ms predicted_end ");
  assert_int_equal(reply.rows.size(), 1);
  const auto& row = reply.rows[0];
  assert_text(Fixture::TextOf(std::vector<std::vector<Cell>>{{row.begin(), row.begin() + 8}}),
              "1|first|QUEUED|tiny|0|1|local:0|100");
  assert_true(std::get<int64_t>(row[8]) > 0);
  assert_true(std::get<double>(row[9]) > 0);
  assert_true(std::get<double>(row[10]) > fixture.clock.now);
  assert_int_equal(fixture.changed.size(), 1);
  assert_text(fixture.Rows("SELECT kind, detail FROM sys_events"), "state|QUEUED: submitted");
}

void DefaultsAreKeptWithTheirSources(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("SET learning_rate = 1e-3; SET keep_checkpoints = 5");
  fixture.Do(
      "TRAIN MODEL tiny FROM lic USING (weight_decay=0.2, batch_tokens=1Ki) FOR 100 STEPS CHECKPOINT EVERY "
      "30m");
  assert_text(Setting(fixture, "learning_rate"), "0.001 session");
  assert_text(Setting(fixture, "weight_decay"), "0.2 statement");
  assert_text(Setting(fixture, "batch_tokens"), "1024 statement");
  assert_text(Setting(fixture, "sequence_length"), "128 default");
  assert_text(Setting(fixture, "lr_scheduler_type"), "cosine default");
  assert_text(Setting(fixture, "seed"), "42 default");
  assert_text(Setting(fixture, "keep_checkpoints"), "5 session");
  assert_text(Setting(fixture, "checkpoint_every"), "30m 00s statement");
  assert_text(Setting(fixture, "retries"), "3 default");
  const TrainingSpec& training = Load(fixture, 1).training;
  assert_true(training.learning_rate == 1e-3);
  assert_int_equal(training.keep_checkpoints, 5);
  assert_true(training.checkpoint_every_seconds == 1800.0);
}

// Where nobody has said: what the device is best at.
void PrecisionFollowsTheDevice(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("TRAIN MODEL tiny FROM lic FOR 1 STEPS");
  assert_text(Setting(fixture, "precision"), "fp32 default");
  assert_true(Load(fixture, 1).training.precision == Precision::kFp32);
  fixture.Do("CANCEL JOB 1");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR 1 STEPS USING (precision=bf16)"),
              "UNKNOWN_PRECISION 46");
  fixture.Do("SET precision = bf16");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR 1 STEPS"), "UNKNOWN_PRECISION 1");
  fixture.Do("RESET precision");
  fixture.SetBf16(2e11);
  const daemon::Reply explained = fixture.Do("EXPLAIN TRAIN MODEL tiny FROM lic FOR 1 STEPS");
  assert_text(Fixture::Item(explained, "precision"), "bf16");
  assert_true(!Fixture::Item(explained, "master").empty());
  fixture.Do("TRAIN MODEL tiny FROM lic FOR 1 STEPS");
  assert_true(Load(fixture, 2).training.precision == Precision::kBf16);
  assert_text(fixture.Rows("SELECT value, source FROM sys_job_settings WHERE job = 2 AND name = 'precision'"),
              "bf16|default");
  fixture.Do("CANCEL JOB 2; TRAIN MODEL tiny FROM lic FOR 1 STEPS USING (precision=fp32)");
  assert_true(Load(fixture, 3).training.precision == Precision::kFp32);
}

void ClausesReachTheJob(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do(
      "TRAIN MODEL tiny AS nightly FROM lic VALIDATE FROM 'held.txt' EVERY 20 STEPS "
      "USING (learning_rate=3e-3, weight_decay=0.1, warmup_steps=10, lr_scheduler_type=cosine, "
      "batch_tokens=8Ki, "
      "sequence_length=128, precision=fp32, seed=1) FOR 1M TOKENS UNTIL val_loss < 1.5 "
      "WITH BUDGET (wall_clock <= 10m, gpu_hours <= 0.5) ELSE CHECKPOINT AND STOP "
      "CHECKPOINT EVERY 1m KEEP 4 LATEST RETRY 2 TIMES LABELS (team='nlp', night, run=7) DETACH");
  const JobRecord job = Load(fixture, 1);
  assert_int_equal(*job.training.target.tokens, 1000000);
  assert_int_equal(job.total_steps, 123);  // ceil(1e6 / 8192)
  assert_int_equal(job.training.validate_every_steps, 20);
  assert_text(job.training.until->metric, "val_loss");
  assert_true(job.training.until->below == 1.5);
  assert_true(job.budget.wall_clock_seconds == 600.0 && job.budget.gpu_hours == 0.5 &&
              job.budget.action_explicit);
  assert_int_equal(job.training.keep_checkpoints, 4);
  assert_int_equal(job.retries_left, 2);
  assert_text(job.labels, R"({"night":true,"run":7,"team":"nlp"})");
  assert_text(job.data.Name(), "lic");
  assert_text(job.validation->parts[0].data.patterns[0], fixture.directory() + "/held.txt");
  assert_true(job.devices.is_null());
  fixture.Do("CANCEL JOB 1; TRAIN MODEL tiny FROM lic FOR 1 STEPS ON GPU local:0");
  assert_text(DumpJson(Load(fixture, 2).devices), R"([["local",0]])");
}

void StartsWhereItIsTold(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("TRAIN MODEL tiny FROM lic FOR 1 STEPS");
  Succeed(fixture, 1);
  fixture.Do("TRAIN MODEL tiny FROM lic FOR 1 STEPS");
  assert_int_equal(Load(fixture, 2).from_version, 1);
  Succeed(fixture, 2);
  assert_text(fixture.Rows("SELECT id, from_version, to_version FROM sys_jobs"), "1|0|1;2|1|2");
  const std::string row =
      fixture.Rows("TRAIN MODEL tiny@1 INTO tiny2 FROM 'data.txt' FOR 10 STEPS ON ALL GPUS");
  assert_true(row.starts_with("3|-|QUEUED|tiny2|1|1|local:0|10|"));
  fixture.Do("TRAIN MODEL tiny FROM SCRATCH FROM lic FOR 1 STEPS");
  assert_int_equal(Load(fixture, 4).from_version, 0);
  assert_text(fixture.Error("TRAIN MODEL tiny@3 FROM lic FOR 1 STEPS"), "NO_SUCH_VERSION 18");
  assert_text(fixture.Error("TRAIN MODEL tiny@1 FROM SCRATCH FROM lic FOR 1 STEPS"), "INVALID_OPTION 18");
  assert_text(fixture.Error("TRAIN MODEL tiny@0 FROM lic FOR 1 STEPS"), "INVALID_OPTION 18");
}

void IntoMakesTheModel(void**) {
  Fixture fixture;
  fixture.Make();
  const Reply reply = fixture.Do("TRAIN MODEL tiny INTO copy FROM lic FOR 1 STEPS");
  assert_int_equal(reply.notices.size(), 1);
  assert_text(fixture.Rows("SHOW MODELS"), "copy|llama|131392|0;tiny|llama|131392|0");
  assert_text(fixture.Error("TRAIN MODEL copy FROM lic FOR 1 STEPS"), "MODEL_BUSY 13");
  assert_text(fixture.Error("TRAIN MODEL tiny INTO copy FROM lic FOR 1 STEPS"), "MODEL_BUSY 23");
  fixture.Do(
      "CREATE MODEL wide ARCHITECTURE llama WITH (hidden_size=128, num_hidden_layers=2, "
      "num_attention_heads=4)");
  assert_text(fixture.Error("TRAIN MODEL tiny INTO wide FROM lic FOR 1 STEPS"), "SPEC_DIFFERS 23");
  assert_true(
      fixture.Message("TRAIN MODEL tiny INTO wide FROM lic FOR 1 STEPS").find("hidden_size is 128, not 64") !=
      std::string::npos);
  fixture.Do("TRAIN MODEL tiny FROM lic FOR 1 STEPS");  // only copy is busy
}

void OneJobAModel(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("TRAIN MODEL tiny AS a FROM lic FOR 1 STEPS");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR 1 STEPS"), "MODEL_BUSY 13");
  assert_true(fixture.Message("TRAIN MODEL tiny FROM lic FOR 1 STEPS").find("job 1 (a) is QUEUED") !=
              std::string::npos);
  fixture.Do("CREATE MODEL other LIKE tiny");
  assert_text(fixture.Error("TRAIN MODEL other AS a FROM lic FOR 1 STEPS"), "JOB_EXISTS 22");
  fixture.Do("CANCEL JOB a; TRAIN MODEL tiny AS a FROM lic FOR 1 STEPS");  // a name may be used again
  assert_text(fixture.Rows("SHOW JOB a"), fixture.Rows("SHOW JOB 2"));     // and means the newest
}

void IfNotExistsComparesStatements(void**) {
  Fixture fixture;
  fixture.Make();
  assert_text(fixture.Error("TRAIN IF NOT EXISTS MODEL tiny FROM lic FOR 1 STEPS"), "NAME_REQUIRED 7");
  const std::string train = "TRAIN IF NOT EXISTS MODEL tiny AS nightly FROM lic FOR 10 STEPS";
  const std::string first = fixture.Rows(train);
  assert_text(fixture.Rows(train), first);
  assert_text(fixture.Rows("train if not exists model tiny for 10 steps from lic as nightly"), first);
  const auto waited = fixture.Run(train + " WAIT TIMEOUT 9h");
  assert_ok(waited);
  const auto* wait = std::get_if<WaitOutcome>(&*waited);
  assert_non_null(wait);
  assert_int_equal(wait->jobs[0], 1);
  assert_true(wait->timeout_seconds == 32400.0);

  const std::string other = "TRAIN IF NOT EXISTS MODEL tiny AS nightly FROM lic FOR 20 STEPS";
  assert_text(fixture.Error(other), "SPEC_DIFFERS 35");
  assert_true(fixture.Message(other).find("there stands '10', here '20'") != std::string::npos);
  Succeed(fixture, 1);
  assert_true(fixture.Rows(train).starts_with("1|nightly|SUCCEEDED|tiny|0|1|"));
  assert_text(fixture.Rows("SELECT count(*) FROM sys_jobs"), "1");
}

void AFailedJobIsMadeAnew(void**) {
  Fixture fixture;
  fixture.Make();
  const std::string train = "TRAIN IF NOT EXISTS MODEL tiny AS nightly FROM lic FOR 10 STEPS";
  fixture.Do(train);
  fixture.Start(1);
  fixture.Change(1, JobChange::kFail);
  assert_true(fixture.Rows(train).starts_with("2|nightly|QUEUED"));
}

void ATokenSubmitsOnce(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.token = "abc";
  const std::string first = fixture.Rows("TRAIN MODEL tiny FROM lic FOR 10 STEPS");
  assert_text(fixture.Rows("TRAIN MODEL tiny FROM lic FOR 10 STEPS"), first);
  fixture.token = "def";
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR 10 STEPS"), "MODEL_BUSY 13");
}

void ParametersStandForValues(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("LET $name = 'nightly'; LET $steps = 10; LET $d = 'lic'; LET $b = '4h'");
  fixture.Do("TRAIN MODEL tiny AS $name FROM $d FOR $steps STEPS WITH BUDGET $b");
  const JobRecord job = Load(fixture, 1);
  assert_text(job.name, "nightly");
  assert_int_equal(*job.training.target.steps, 10);
  assert_text(job.data.Name(), "lic");
  assert_true(job.budget.wall_clock_seconds == 14400.0);
  assert_text(fixture.Rows("SHOW CREATE JOB 1"),
              "TRAIN MODEL tiny AS nightly FROM lic FOR 10 STEPS WITH BUDGET 4h");
  assert_text(fixture.Error("TRAIN MODEL $m FROM lic FOR 1 STEPS"), "UNBOUND_PARAMETER 13");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR $n STEPS"), "UNBOUND_PARAMETER 31");
  fixture.parameters["n"].kind = grammar::Value::Kind::kString;
  fixture.parameters["n"].text = "many";
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR $n STEPS"), "INVALID_OPTION 31");
  fixture.parameters["n"].text = "4GiB";
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR $n STEPS"), "WRONG_UNIT 31");
  fixture.parameters["n"].text = std::string(65, 'x');
  assert_text(fixture.Error("TRAIN MODEL tiny AS $n FROM lic FOR 1 STEPS"), "NAME_TOO_LONG 21");
}

void BadClausesPointAtThemselves(void**) {
  Fixture fixture;
  fixture.Make();
  const std::string head = "TRAIN MODEL tiny FROM lic ";  // 26 characters
  const std::pair<const char*, const char*> cases[] = {
      {"FOR 0 STEPS", "INVALID_OPTION 31"},
      {"FOR 1.5 STEPS", "INVALID_OPTION 31"},
      {"FOR 4h STEPS", "WRONG_UNIT 31"},
      {"FOR 0 EPOCHS", "INVALID_OPTION 31"},
      {"UNTIL loss < 1", "MISSING_OPTION 1"},
      {"FOR 1 STEPS UNTIL accuracy < 1", "INVALID_OPTION 45"},
      {"FOR 1 STEPS UNTIL val_loss < 1", "INVALID_OPTION 45"},
      {"FOR 1 STEPS UNTIL loss < 1GiB", "WRONG_UNIT 52"},
      {"WITH BUDGET (hours <= 4)", "UNKNOWN_BUDGET_TERM 40"},
      {"WITH BUDGET 24GiB", "WRONG_UNIT 39"},
      {"WITH BUDGET 4", "WRONG_UNIT 39"},
      {"WITH BUDGET 25USD", "WRONG_UNIT 39"},
      {"WITH BUDGET (wall_clock <= 4)", "WRONG_UNIT 54"},
      {"WITH BUDGET (gpu_hours <= 4h)", "WRONG_UNIT 53"},
      {"WITH BUDGET (wall_clock <= 0s)", "INVALID_OPTION 54"},
      {"WITH BUDGET (wall_clock <= 4h, wall_clock <= 5h)", "DUPLICATE_OPTION 58"},
      {"WITH BUDGET (DEADLINE 'tomorrow')", "INVALID_OPTION 49"},
      {"WITH BUDGET (cost <= 5USD)", "UNKNOWN_BUDGET_TERM 40"},
      {"FOR 1 STEPS USING (precision=bf16)", "UNKNOWN_PRECISION 46"},
      {"FOR 1 STEPS USING (precision=fp8)", "UNKNOWN_PRECISION 46"},
      {"FOR 1 STEPS USING (lr_scheduler_type=cosin)", "INVALID_OPTION 46"},
      {"FOR 1 STEPS USING (learning_rat=1)", "UNKNOWN_OPTION 46"},
      {"FOR 1 STEPS USING (sequence_length=256)", "INVALID_OPTION 46"},
      {"FOR 1 STEPS USING (batch_tokens=1000)", "INVALID_OPTION 46"},
      {"FOR 1 STEPS USING (seed=1, learning_rate=-1)", "INVALID_OPTION 54"},
      {"FOR 1 STEPS USING (adam_beta2=1)", "INVALID_OPTION 46"},
      {"FOR 1 STEPS CHECKPOINT EVERY 10", "WRONG_UNIT 56"},
      {"FOR 1 STEPS CHECKPOINT EVERY 1m STEPS", "WRONG_UNIT 56"},
      {"FOR 1 STEPS CHECKPOINT EVERY 1m KEEP 1 LATEST", "INVALID_OPTION 64"},
      {"FOR 1 STEPS RETRY 9999 TIMES", "INVALID_OPTION 45"},
      {"FOR 1 STEPS LABELS (a=1, a=2)", "DUPLICATE_OPTION 52"},
      {"FOR 1 STEPS ON GPU local:7", "NO_SUCH_DEVICE 46"},
      {"FOR 1 STEPS ON GPU far:0", "NO_SUCH_DEVICE 46"},
      {"FOR 1 STEPS ON GPU local:0, local:0", "DUPLICATE_OPTION 55"},
      {"FOR 1 STEPS VALIDATE FROM nobody", "NO_SUCH_DATASET 53"},
      {"FOR 1 STEPS VALIDATE FROM 'held.txt' EVERY 0 STEPS", "INVALID_OPTION 70"},
      {"FOR 1 STEPS RESUME FROM LATEST", "NO_SUCH_CHECKPOINT 39"},
      {"FOR 1 STEPS RESUME FROM CHECKPOINT '../../etc/passwd'", "NO_SUCH_CHECKPOINT 62"},
      {"FOR 1 STEPS WAIT TIMEOUT 10", "WRONG_UNIT 52"},
  };
  for (const auto& [clause, error] : cases)
    assert_text(std::string(clause) + ": " + fixture.Error(head + clause),
                std::string(clause) + ": " + error);
  assert_text(fixture.Error("TRAIN MODEL tiny FROM nobody FOR 1 STEPS"), "NO_SUCH_DATASET 23");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM 'none.txt' FOR 1 STEPS"), "FILE_NOT_FOUND 23");
  assert_text(fixture.Rows("SHOW JOBS"), "");
}

void DataMustHoldASequence(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.WriteFile("empty.txt", "");
  fixture.WriteFile("short.txt", std::string(100, 'a'));
  assert_text(fixture.Error("TRAIN MODEL tiny FROM 'empty.txt' FOR 1 STEPS"), "EMPTY_FILE 23");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM 'short.txt' FOR 1 STEPS"), "DATA_TOO_SHORT 23");
  fixture.Do("TRAIN MODEL tiny FROM 'short.txt' USING (sequence_length=64) FOR 1 STEPS");
  fixture.WriteFile("data.txt", "");  // a data set's file may change
  assert_text(fixture.Error("EXPLAIN TRAIN MODEL tiny FROM lic FOR 1 STEPS"), "EMPTY_FILE 31");
}

void BudgetsAreHeldAgainstThePlan(void**) {
  Fixture fixture;
  fixture.Make();
  const std::string train = "TRAIN MODEL tiny FROM lic FOR 1000000 STEPS WITH BUDGET (wall_clock <= 5s)";
  assert_text(fixture.Error(train), "BUDGET_TOO_SMALL 45");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR 1M STEPS WITH BUDGET (DEADLINE '2001-01-01')"),
              "BUDGET_TOO_SMALL 40");
  const Reply admitted = fixture.Do(train + " ELSE WARN");
  assert_int_equal(admitted.notices.size(), 1);
  assert_text(fixture.Rows("SELECT kind FROM sys_events ORDER BY id"), "state;warning");
}

void TheBudgetAsTarget(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("TRAIN MODEL tiny FROM lic WITH BUDGET 60s");
  assert_text(Setting(fixture, "lr_scheduler_type"), "warmup_stable_decay default");
  assert_true(Load(fixture, 1).total_steps > 0);
  assert_true(Load(fixture, 1).training.target == Target());
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic"), "MISSING_OPTION 1");
}

void EpochsAreCountedLater(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("train model tiny from lic for 2 epochs");
  assert_text(fixture.Rows("SELECT total_steps FROM sys_jobs"), "-");
  const Reply explained =
      fixture.Do("EXPLAIN TRAIN MODEL tiny FROM lic USING (batch_tokens=128) FOR 2 EPOCHS");
  assert_text(Fixture::Item(explained, "total_steps"), "~92");  // 2 · floor(6000 / 128)
}

void WhatCannotFitIsRefused(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do(
      "CREATE MODEL huge ARCHITECTURE llama WITH (hidden_size=16384, num_hidden_layers=160, "
      "num_attention_heads=128, intermediate_size=65536, vocab_size=256)");
  assert_text(fixture.Error("TRAIN MODEL huge FROM lic FOR 1 STEPS"), "NO_FEASIBLE_PLAN 1");
  assert_text(fixture.Error("EXPLAIN TRAIN MODEL huge FROM lic FOR 1 STEPS"), "NO_FEASIBLE_PLAN 9");
  fixture.device_.free_bytes = 0;
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR 1 STEPS"), "NO_FEASIBLE_PLAN 1");
}

// What our own jobs hold now is free when they have ended.
void RunningJobsAreNotHeldAgainstIt(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("TRAIN MODEL tiny INTO a FROM lic FOR 1 STEPS");
  assert_ok(fixture.Write([](Transaction& t) -> Status {
    TRAIND_TRY(t.Run("UPDATE _jobs SET predicted_peak_bytes = 6000000000"));
    return BeginAttempt(t, 1, "local:0", 1).status();
  }));
  fixture.device_.free_bytes = 1 << 20;
  fixture.Do("TRAIN MODEL tiny FROM lic FOR 1 STEPS");
  assert_text(fixture.Rows("SELECT reserved_bytes FROM sys_gpus"), "6000000000");
}

void DetachNeedsADaemonThatStays(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.session.embedded = true;
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR 1 STEPS DETACH"), "MISUSE 1");
}

void ResumesFromCheckpoints(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("TRAIN MODEL tiny FROM lic FOR 100 STEPS");
  fixture.Start(1);
  assert_ok(fixture.Write([](Transaction& t) -> Status {
    for (const int64_t step : {50, 100}) {
      TRAIND_TRY(AddCheckpoint(t, 1, step, "/s/jobs/1/checkpoints/step-" + std::to_string(step), 1, {}, 1));
    }
    return Apply(t, 1, JobChange::kCancel, "", 1).status();
  }));
  const std::string train = "TRAIN MODEL tiny FROM lic FOR 200 STEPS RESUME FROM ";
  assert_text(Fixture::Item(fixture.Do("EXPLAIN " + train + "LATEST"), "from"),
              "/s/jobs/1/checkpoints/step-100 (step 100)");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM lic FOR 100 STEPS RESUME FROM LATEST"),
              "INVALID_OPTION 31");
  fixture.Do(train + "CHECKPOINT 'step-50'");
  assert_text(Load(fixture, 2).resume_checkpoint, "/s/jobs/1/checkpoints/step-50");
  fixture.Do("CANCEL JOB 2");
  fixture.Do(train + "CHECKPOINT '/s/jobs/1/checkpoints/step-100'");
  fixture.Do("CANCEL JOB 3");
  assert_text(fixture.Error(train + "LATEST"), "NO_SUCH_CHECKPOINT 41");  // the newest job has none
  assert_ok(fixture.Write([](Transaction& t) { return SetCheckpointState(t, 1, 50, "damaged"); }));
  assert_text(fixture.Error(train + "CHECKPOINT 'step-50'"), "NO_SUCH_CHECKPOINT 64");
  assert_text(fixture.Error("TRAIN MODEL tiny FROM SCRATCH FROM lic FOR 1 STEPS RESUME FROM LATEST"),
              "INVALID_OPTION 52");
}

void ExplainSaysEverything(void**) {
  Fixture fixture;
  fixture.Make();
  const std::string train =
      "TRAIN MODEL tiny FROM lic VALIDATE FROM 'held.txt' USING (seed=7) FOR 100 STEPS "
      "WITH BUDGET (wall_clock <= 4h)";
  const Reply rows = fixture.Do("EXPLAIN (verbose) " + train);
  assert_text(Fixture::Item(rows, "seed"), "7 (statement)");
  assert_text(Fixture::Item(rows, "learning_rate"), "0.0003 (default)");
  assert_text(Fixture::Item(rows, "to"), "tiny@1");
  assert_text(Fixture::Item(rows, "total_steps"), "100");
  assert_true(Fixture::Item(rows, "wall_clock").find("headroom") != std::string::npos);
  for (const char* item :
       {"strategy", "predicted_peak", "predicted", "communication", "disk", "weights", "sql"}) {
    assert_true(Fixture::Item(rows, item) != "(none)");
  }
  assert_true(Fixture::TextOf(rows).find("rejected|") != std::string::npos);
  const Reply json = fixture.Do("EXPLAIN (format=json, verbose) " + train);
  assert_text(json.columns[0].type, "json");
  const auto object = ParseJson(std::get<std::string>(json.rows[0][0]));
  assert_ok(object);
  for (const char* key :
       {"plan", "rejected", "budget", "settings", "queries", "data", "validation", "warnings"}) {
    assert_true(object->contains(key));
  }
  assert_text(fixture.Error("EXPLAIN (format=xml) " + train), "INVALID_OPTION 10");
  assert_text(fixture.Error("EXPLAIN (verbos) " + train), "UNKNOWN_OPTION 10");
  assert_text(fixture.Rows("SHOW JOBS"), "");
  fixture.Do(train);
  const Reply job = fixture.Do("EXPLAIN JOB 1");
  assert_text(Fixture::Item(job, "seed"), "7 (statement)");
  assert_text(Fixture::Item(job, "strategy"), Fixture::Item(rows, "strategy"));
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ReplyHasItsColumns),
      cmocka_unit_test(DefaultsAreKeptWithTheirSources),
      cmocka_unit_test(PrecisionFollowsTheDevice),
      cmocka_unit_test(ClausesReachTheJob),
      cmocka_unit_test(StartsWhereItIsTold),
      cmocka_unit_test(IntoMakesTheModel),
      cmocka_unit_test(OneJobAModel),
      cmocka_unit_test(IfNotExistsComparesStatements),
      cmocka_unit_test(AFailedJobIsMadeAnew),
      cmocka_unit_test(ATokenSubmitsOnce),
      cmocka_unit_test(ParametersStandForValues),
      cmocka_unit_test(BadClausesPointAtThemselves),
      cmocka_unit_test(DataMustHoldASequence),
      cmocka_unit_test(BudgetsAreHeldAgainstThePlan),
      cmocka_unit_test(TheBudgetAsTarget),
      cmocka_unit_test(EpochsAreCountedLater),
      cmocka_unit_test(WhatCannotFitIsRefused),
      cmocka_unit_test(RunningJobsAreNotHeldAgainstIt),
      cmocka_unit_test(DetachNeedsADaemonThatStays),
      cmocka_unit_test(ResumesFromCheckpoints),
      cmocka_unit_test(ExplainSaysEverything),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
