// PAUSE, RESUME, CANCEL, CHECKPOINT, RETRY, ALTER, WAIT: the right change or request in each state.
#include "tests/unit/daemon/statement_fixture.h"

namespace traind::daemon {
namespace {

using Fixture = testing::StatementFixture;

// A job in a state, as the supervisor would bring it there.
class JobFixture : public Fixture {
 public:
  JobFixture() {
    Make();
    Do("TRAIN MODEL tiny AS j FROM lic FOR 100 STEPS WITH BUDGET (wall_clock <= 4h)");
  }
  void Become(JobState state) {
    assert_ok(Write([&](Transaction& t) {
      return t.Run("UPDATE _jobs SET state = ?1, request = ''", {std::string(JobStateName(state))});
    }));
  }
  // "STATE request" after the statement, or its error.
  std::string After(const std::string& statement, JobState state) {
    Become(state);
    const std::string error = Error(statement);
    if (error != "OK") return error.substr(0, error.find(' '));
    const auto job = LoadJob(*reader, 1);
    assert_ok(job);
    const std::string request(JobRequestName(job->request));
    return std::string(JobStateName(job->state)) + (request.empty() ? "" : " " + request);
  }
};

struct Case {
  JobState state;
  const char* pause;
  const char* cancel;
  const char* checkpoint;
  const char* resume;
  const char* retry;
};
constexpr Case kCases[] = {
    {JobState::kQueued, "PAUSED", "CANCELLED", "WRONG_STATE", "WRONG_STATE", "WRONG_STATE"},
    {JobState::kHeld, "WRONG_STATE", "CANCELLED", "WRONG_STATE", "WRONG_STATE", "WRONG_STATE"},
    {JobState::kPreparing, "PREPARING pause", "PREPARING cancel", "PREPARING checkpoint", "WRONG_STATE",
     "WRONG_STATE"},
    {JobState::kRunning, "RUNNING pause", "RUNNING cancel", "RUNNING checkpoint", "WRONG_STATE",
     "WRONG_STATE"},
    {JobState::kPaused, "WRONG_STATE", "CANCELLED", "WRONG_STATE", "QUEUED", "WRONG_STATE"},
    {JobState::kStalled, "PAUSED", "CANCELLED", "WRONG_STATE", "QUEUED", "WRONG_STATE"},
    {JobState::kSucceeded, "WRONG_STATE", "WRONG_STATE", "WRONG_STATE", "WRONG_STATE", "WRONG_STATE"},
    {JobState::kBudgetExceeded, "WRONG_STATE", "WRONG_STATE", "WRONG_STATE", "QUEUED", "WRONG_STATE"},
    {JobState::kCancelled, "WRONG_STATE", "WRONG_STATE", "WRONG_STATE", "QUEUED", "WRONG_STATE"},
    {JobState::kFailed, "WRONG_STATE", "WRONG_STATE", "WRONG_STATE", "WRONG_STATE", "QUEUED"},
};

void EveryVerbInEveryState(void**) {
  JobFixture fixture;
  for (const Case& each : kCases) {
    assert_text(fixture.After("PAUSE JOB j", each.state), each.pause);
    assert_text(fixture.After("CANCEL JOB 1", each.state), each.cancel);
    assert_text(fixture.After("CHECKPOINT JOB 'j'", each.state), each.checkpoint);
    assert_text(fixture.After("RESUME JOB j", each.state), each.resume);
    assert_text(fixture.After("RETRY JOB j", each.state), each.retry);
  }
}

void WrongStateSaysWhatGoesOn(void**) {
  JobFixture fixture;
  fixture.Become(JobState::kFailed);
  const std::string message = fixture.Message("RESUME JOB j");
  assert_true(message.find("job 1 (j) is FAILED") != std::string::npos);
  assert_true(message.find("RETRY JOB 1") != std::string::npos);
}

void TheReplyNamesTheRequest(void**) {
  JobFixture fixture;
  fixture.Become(JobState::kRunning);
  fixture.changed.clear();
  assert_text(fixture.Rows("PAUSE JOB j"), "1|j|RUNNING|pause");
  assert_int_equal(fixture.changed.size(), 1);
  assert_text(fixture.Rows("SELECT kind, detail FROM sys_events WHERE kind = 'request'"), "request|pause");
}

void AllJobsOrNone(void**) {
  JobFixture fixture;
  fixture.Do("CREATE MODEL b LIKE tiny; TRAIN MODEL b FROM lic FOR 1 STEPS");
  assert_text(fixture.Error("CANCEL JOB 1, 7"), "NO_SUCH_JOB 15");
  fixture.Do("CANCEL JOB 2");
  assert_text(fixture.Error("CANCEL JOB 1, 2"), "WRONG_STATE 15");
  assert_text(fixture.Rows("SELECT state FROM sys_jobs ORDER BY id"), "QUEUED;CANCELLED");
  assert_text(fixture.Rows("CANCEL JOB 1, 1, j"), "1|j|CANCELLED|-");
}

void JobsAreNamedInManyWays(void**) {
  JobFixture fixture;
  const std::string row = fixture.Rows("SHOW JOB 1");
  assert_text(fixture.Rows("SHOW JOB j"), row);
  assert_text(fixture.Rows("SHOW JOB 'j'"), row);
  assert_text(fixture.Rows("SHOW JOB \"j\""), row);
  fixture.Do("LET $a = 'j'; LET $b = 1; LET $c = '1'");
  for (const char* name : {"$a", "$b", "$c"}) assert_text(fixture.Rows("SHOW JOB " + std::string(name)), row);
  assert_text(fixture.Error("SHOW JOB 2"), "NO_SUCH_JOB 10");
  assert_text(fixture.Error("SHOW JOB k"), "NO_SUCH_JOB 10");
  assert_text(fixture.Error("SHOW JOB 1.5"), "INVALID_OPTION 10");
  assert_text(fixture.Error("SHOW JOB 4h"), "WRONG_UNIT 10");
  assert_text(fixture.Error("PAUSE JOB 0"), "INVALID_OPTION 11");
}

void AContinuedJobNeedsItsModelFree(void**) {
  JobFixture fixture;
  fixture.Do("CANCEL JOB j; TRAIN MODEL tiny FROM lic FOR 1 STEPS");
  assert_text(fixture.Error("RESUME JOB j"), "MODEL_BUSY 12");
  fixture.Do("CANCEL JOB 2; RESUME JOB j");
  assert_text(fixture.Rows("SELECT state FROM sys_jobs ORDER BY id"), "QUEUED;CANCELLED");
}

void ASpentBudgetIsSaidBeforeResuming(void**) {
  JobFixture fixture;
  fixture.Become(JobState::kBudgetExceeded);
  assert_ok(fixture.Write([](Transaction& t) { return AddUsage(t, 1, 4 * 3600, 1); }));
  assert_text(fixture.Error("RESUME JOB j"), "BUDGET_TOO_SMALL 12");
  assert_text(fixture.Error("ALTER JOB j SET BUDGET (wall_clock <= 3h)"), "BUDGET_TOO_SMALL 13");
  fixture.Do("ALTER JOB j SET BUDGET (wall_clock <= 48h); RESUME JOB j");
  const auto job = LoadJob(*fixture.reader, 1);
  assert_true(job->budget.wall_clock_seconds == 48 * 3600.0);
  assert_true(job->state == JobState::kQueued);
}

void AlterKeepsThePlanOfWhatRuns(void**) {
  JobFixture fixture;
  fixture.Become(JobState::kRunning);
  const Json before = LoadJob(*fixture.reader, 1)->plan;
  fixture.Do("ALTER JOB j SET BUDGET 8gpu_hours");
  const auto job = LoadJob(*fixture.reader, 1);
  assert_true(job->plan == before);
  assert_false(job->budget.wall_clock_seconds.has_value());  // the new terms take the place of all old ones
  assert_true(job->budget.gpu_hours == 8.0);
  assert_text(fixture.Error("ALTER JOB j SET BUDGET 5GiB"), "WRONG_UNIT 24");
  assert_text(fixture.Error("ALTER JOB k SET BUDGET 5h"), "NO_SUCH_JOB 11");
  fixture.Become(JobState::kSucceeded);
  assert_text(fixture.Error("ALTER JOB j SET BUDGET 5h"), "WRONG_STATE 11");
}

void AlterAdmitsABrokenBudgetWithElse(void**) {
  JobFixture fixture;
  assert_text(fixture.Error("ALTER JOB j SET BUDGET (DEADLINE '2001-01-01')"), "BUDGET_TOO_SMALL 13");
  assert_int_equal(fixture.Do("ALTER JOB j SET BUDGET (DEADLINE '2001-01-01') ELSE PAUSE").notices.size(), 1);
}

void WaitHandsOverTheJobs(void**) {
  JobFixture fixture;
  fixture.Do("CREATE MODEL b LIKE tiny; TRAIN MODEL b FROM lic FOR 1 STEPS");
  const auto outcome = fixture.Run("WAIT FOR JOB 2, 'j', 1 TIMEOUT 2h");
  assert_ok(outcome);
  const auto* wait = std::get_if<WaitOutcome>(&*outcome);
  assert_non_null(wait);
  assert_int_equal(wait->jobs.size(), 2);
  assert_int_equal(wait->jobs[0], 2);
  assert_true(wait->timeout_seconds == 7200.0);
  assert_text(fixture.Error("WAIT FOR JOB 1 TIMEOUT 10"), "WRONG_UNIT 24");
  assert_text(fixture.Error("WAIT FOR JOB 1 TIMEOUT 0s"), "INVALID_OPTION 24");
}

void InferenceNeedsAVersion(void**) {
  JobFixture fixture;
  assert_text(fixture.Error("GENERATE FROM MODEL tiny PROMPT 'x'"), "NO_SUCH_VERSION 21");
  assert_text(fixture.Error("EVALUATE MODEL tiny FROM lic"), "NO_SUCH_VERSION 16");
  assert_text(fixture.Error("EVALUATE MODEL nobody FROM lic"), "NO_SUCH_MODEL 16");
  assert_ok(fixture.Write([](Transaction& t) -> Status {
    TRAIND_ASSIGN(const JobRecord job, LoadJob(t, 1));
    return AddVersion(t, job, 1, 1, {}, "/models/1/1", 1).status();
  }));
  const auto generated =
      fixture.Run("GENERATE FROM MODEL tiny PROMPT 'This' USING (max_tokens=5, temperature=0.5, seed=9)");
  assert_ok(generated);
  const auto task = GenerateTaskFromJson(std::get<WorkerOutcome>(*generated).task);
  assert_ok(task);
  assert_text(task->weights, "/models/1/1");
  assert_text(task->prompt, "This");
  assert_int_equal(task->max_tokens, 5);
  assert_int_equal(task->seed, 9);
  const auto evaluated = fixture.Run("EVALUATE MODEL tiny@1 FROM lic USING (batches=20)");
  assert_ok(evaluated);
  const auto evaluation = EvaluateTaskFromJson(std::get<WorkerOutcome>(*evaluated).task);
  assert_ok(evaluation);
  assert_int_equal(evaluation->batches, 20);
  assert_int_equal(evaluation->sequence_length, 128);
  assert_int_equal(evaluation->batch_sequences, 64);
  assert_text(fixture.Error("EVALUATE MODEL tiny@2 FROM lic"), "NO_SUCH_VERSION 21");
  assert_text(fixture.Error("EVALUATE MODEL tiny FROM lic USING (sequence_length=256)"), "INVALID_OPTION 37");
  assert_text(fixture.Error("EVALUATE MODEL tiny FROM lic USING (batch_tokens=100)"), "INVALID_OPTION 37");
  assert_text(fixture.Error("GENERATE FROM MODEL tiny PROMPT 'x' USING (temperature=-1)"),
              "INVALID_OPTION 44");
  assert_text(fixture.Error("GENERATE FROM MODEL tiny PROMPT 'x' USING (top_k=1)"), "UNKNOWN_OPTION 44");
  fixture.device_.free_bytes = 0;
  assert_text(fixture.Error("GENERATE FROM MODEL tiny PROMPT 'x'"), "NO_FEASIBLE_PLAN 1");
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(EveryVerbInEveryState),
      cmocka_unit_test(WrongStateSaysWhatGoesOn),
      cmocka_unit_test(TheReplyNamesTheRequest),
      cmocka_unit_test(AllJobsOrNone),
      cmocka_unit_test(JobsAreNamedInManyWays),
      cmocka_unit_test(AContinuedJobNeedsItsModelFree),
      cmocka_unit_test(ASpentBudgetIsSaidBeforeResuming),
      cmocka_unit_test(AlterKeepsThePlanOfWhatRuns),
      cmocka_unit_test(AlterAdmitsABrokenBudgetWithElse),
      cmocka_unit_test(WaitHandsOverTheJobs),
      cmocka_unit_test(InferenceNeedsAVersion),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
