// PAUSE, RESUME, CANCEL, CHECKPOINT, RETRY, ALTER, WAIT: the right change or request in each state.
#include <filesystem>

#include "daemon/catalog/models.h"
#include "engine/spec/task.h"
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
  assert_text(fixture.Error("GENERATE FROM MODEL tiny PROMPT 'x' USING (top_n=1)"), "UNKNOWN_OPTION 44");
  assert_text(fixture.Error("GENERATE FROM MODEL tiny PROMPT 'x' USING (top_p=1.5)"), "INVALID_OPTION 44");
  const auto sampled = fixture.Run(
      "GENERATE FROM MODEL tiny PROMPT 'x' USING (top_k=40, top_p=0.9, stop='a\\n\\t\\\\\\x', "
      "max_tokens=9999)");
  assert_ok(sampled);
  const auto sampling = GenerateTaskFromJson(std::get<WorkerOutcome>(*sampled).task);
  assert_ok(sampling);
  assert_int_equal(sampling->top_k, 40);
  assert_true(sampling->top_p == 0.9);
  assert_text(sampling->stop, "a\n\t\\\\x");
  assert_int_equal(sampling->context, 128);  // the model's
  fixture.device_.free_bytes = 0;
  assert_text(fixture.Error("GENERATE FROM MODEL tiny PROMPT 'x'"), "NO_FEASIBLE_PLAN 1");
}

void ExportNeedsAPlaceOutside(void**) {
  JobFixture fixture;
  assert_text(fixture.Error("EXPORT MODEL tiny TO 'out' FORMAT safetensors"), "NO_SUCH_VERSION 14");
  assert_ok(fixture.Write([](Transaction& t) -> Status {
    TRAIND_ASSIGN(const JobRecord job, LoadJob(t, 1));
    return AddVersion(t, job, 1, 1, {}, "/models/1/1", 1).status();
  }));
  const std::string state = fixture.session.directory;
  fixture.session.directory = "/home/me";
  const auto exported = fixture.Run("EXPORT MODEL tiny@1 FORMAT safetensors TO 'a/../out/'");
  assert_ok(exported);
  const auto task = ExportTaskFromJson(std::get<WorkerOutcome>(*exported).task);
  assert_ok(task);
  assert_text(task->target, "/home/me/out");
  assert_text(task->weights, "/models/1/1");
  assert_text(fixture.Error("EXPORT MODEL tiny TO 'out' FORMAT gguf"), "UNKNOWN_FORMAT 35");
  assert_text(fixture.Error("EXPORT MODEL tiny TO '' FORMAT safetensors"), "INVALID_OPTION 22");
  assert_text(fixture.Error("EXPORT MODEL tiny TO '" + state + "/models/9' FORMAT safetensors"),
              "FORBIDDEN_PATH 22");
}

// The worker's part is done by hand: a directory under the name that the task gives it.
void ImportIsWholeOrNothing(void**) {
  JobFixture fixture;
  const std::string state = fixture.session.directory;
  std::filesystem::create_directories(state + "/hf");
  assert_text(fixture.Error("IMPORT MODEL tiny FROM 'hf'"), "MODEL_EXISTS 14");
  assert_text(fixture.Error("IMPORT MODEL q FROM 'nothing'"), "FILE_NOT_FOUND 21");
  assert_text(fixture.Error("IMPORT MODEL q FROM 'data.txt'"), "FILE_NOT_FOUND 21");
  const auto imported = fixture.Run("IMPORT MODEL q FROM 'hf'");
  assert_ok(imported);
  const auto& outcome = std::get<WorkerOutcome>(*imported);
  const auto task = ImportTaskFromJson(outcome.task);
  assert_ok(task);
  assert_text(task->source, state + "/hf");
  assert_true(task->target.starts_with(state + "/models/.tmp-"));
  std::filesystem::create_directories(task->target);
  fixture.WriteFile(task->target.substr(state.size() + 1) + "/model.safetensors", "weights");

  const ModelSpec spec = (*LookUpModel(*fixture.reader, "tiny"))->spec;
  assert_false(outcome.conclude(Json{{"type", "result"}, {"bytes", 7}}).ok());
  const auto reply =
      outcome.conclude(Json{{"model", ModelToJson(spec)}, {"bytes", 7}, {"notices", {"said"}}});
  assert_ok(reply);
  assert_text(reply->notices.at(0), "said");
  assert_false(std::filesystem::exists(task->target));
  const auto model = *LookUpModel(*fixture.reader, "q");
  assert_true(model.has_value());
  const auto version = *LookUpVersion(*fixture.reader, model->id, 1);
  assert_true(version.has_value());
  assert_text(version->path, state + "/models/" + std::to_string(model->id) + "/1");
  assert_true(std::filesystem::exists(version->path + "/model.safetensors"));
  assert_text(fixture.Rows("SELECT version, job, step FROM sys_versions WHERE model = 'q'"), "1|-|0");

  // Somebody else has taken the name meanwhile: nothing is left.
  std::filesystem::create_directories(task->target);
  const auto second = outcome.conclude(Json{{"model", ModelToJson(spec)}, {"bytes", 7}});
  assert_code(second, ErrorCode::MODEL_EXISTS);
  assert_false(std::filesystem::exists(task->target));
  std::filesystem::create_directories(task->target);
  outcome.undo();
  assert_false(std::filesystem::exists(task->target));
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
      cmocka_unit_test(ExportNeedsAPlaceOutside),
      cmocka_unit_test(ImportIsWholeOrNothing),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
