// A job's life: every state with every change, requests, records, attempts, usage, checkpoints, versions.
#include <algorithm>
#include <array>

#include "daemon/jobs/jobs.h"
#include "engine/base/limits.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

using testing::TemporaryState;

// What the language says, one row per state, one letter per change in JobChange's order:
// start prepared pause stall requeue resume retry succeed exceed cancel fail; '-': not allowed.
struct Row {
  JobState from;
  std::string_view changes;
};
constexpr Row kExpected[] = {
    {JobState::kQueued, "P-AS----BCF"},  // Q queued  P preparing  R running  A paused  S stalled
    {JobState::kHeld, "---------C-"},    // U succeeded  B budget exceeded  C cancelled  F failed
    {JobState::kPreparing, "-RASQ---BCF"}, {JobState::kRunning, "--ASQ--UBCF"},
    {JobState::kPaused, "-----Q---C-"},    {JobState::kStalled, "--A-QQ---CF"},
    {JobState::kSucceeded, "-----------"}, {JobState::kBudgetExceeded, "-----Q-----"},
    {JobState::kCancelled, "-----Q-----"}, {JobState::kFailed, "------Q----"},
};

char Letter(std::optional<JobState> state) {
  if (!state) return '-';
  constexpr std::string_view kLetters = "QHPRASUBCF";
  return kLetters[static_cast<size_t>(*state)];
}

JobRecord Example() {
  JobRecord job;
  job.name = "nightly";
  job.model_id = 1;
  job.target_model_id = 1;
  job.model = "m";
  job.target_model = "m";
  job.model_spec.hidden_size = 64;
  job.model_spec.num_hidden_layers = 2;
  job.model_spec.num_attention_heads = 4;
  job.model_spec.num_key_value_heads = 4;
  job.model_spec.intermediate_size = 192;
  job.model_spec.max_position_embeddings = 64;
  job.training.sequence_length = 64;
  job.training.batch_tokens = 1024;
  job.training.target.steps = 100;
  job.budget.wall_clock_seconds = 60;
  job.data = DataSpec{"d", {"/tmp/a", "/tmp/b*"}, DataFormat::kText};
  job.validation = DataSpec{"v", {"/tmp/v"}, DataFormat::kText};
  job.plan = {{"step_seconds", 0.5}};
  job.statement = "TRAIN MODEL m FROM d FOR 100 STEPS";
  job.canonical = job.statement;
  job.labels = R"({"team":"nlp"})";
  job.client_token = "token";
  job.total_steps = 100;
  return job;
}

class Fixture {
 public:
  Fixture() {
    assert_ok(state.Open());
    assert_ok(Write([](Transaction& t) {
      return t.Run(
          "INSERT INTO _models(id, name, spec, architecture, parameters, created_at) "
          "VALUES (1,'m','{}','llama',1,0.0)");
    }));
  }
  Status Write(std::function<Status(Transaction&)> work) { return state.catalog().Write(std::move(work)); }
  int64_t Insert(const JobRecord& job) {
    int64_t id = 0;
    assert_ok(Write([&](Transaction& t) -> Status {
      TRAIND_ASSIGN(id,
                    InsertJob(t, job, {{"seed", "42", "default"}, {"learning_rate", "0.003", "statement"}},
                              state.path(), 1000));
      return {};
    }));
    return id;
  }
  void SetState(int64_t job, JobState to) {
    assert_ok(Write([&](Transaction& t) {
      return t.Run("UPDATE _jobs SET state = ?2 WHERE id = ?1", {job, std::string(JobStateName(to))});
    }));
  }
  Result<JobState> Change(int64_t job, JobChange change, std::string_view reason = "", double now = 2000) {
    Result<JobState> result = JobState::kQueued;
    const Status status = Write([&](Transaction& t) {
      result = Apply(t, job, change, reason, now);
      return result.status();
    });
    if (!status.ok()) return status;
    return result;
  }
  JobRecord Load(int64_t job) {
    auto reader = state.NewReader();
    auto record = LoadJob(*reader, job);
    assert_ok(record);
    return *record;
  }
  std::vector<std::string> Events(int64_t job) {
    auto reader = state.NewReader();
    const auto rows =
        reader->Query("SELECT kind || ' ' || detail FROM main._events WHERE job_id = ?1 ORDER BY id", {job});
    assert_ok(rows);
    std::vector<std::string> events;
    for (const auto& row : *rows) events.push_back(std::get<std::string>(row[0]));
    return events;
  }

  TemporaryState state;
};

void TableIsTheLanguages(void**) {
  for (const Row& row : kExpected) {
    std::string actual;
    for (int change = 0; change <= static_cast<int>(JobChange::kFail); ++change) {
      actual += Letter(NextState(row.from, static_cast<JobChange>(change)));
    }
    assert_text(actual, row.changes);
  }
  assert_int_equal(AllJobStates().size(), std::size(kExpected));
  for (const JobStateInfo& info : AllJobStates()) {
    assert_true(*ParseJobState(info.name) == info.state);
    assert_true(info.terminal ? info.exit_code >= 0 && !info.has_devices : true);
    assert_true(info.metered == info.has_devices);
  }
  assert_false(ParseJobState("running").ok());
}

void ApplyKeepsToTheTable(void**) {
  Fixture fixture;
  const int64_t job = fixture.Insert(Example());
  for (const Row& row : kExpected) {
    for (size_t change = 0; change < row.changes.size(); ++change) {
      fixture.SetState(job, row.from);
      const auto result = fixture.Change(job, static_cast<JobChange>(change));
      if (row.changes[change] == '-') {
        assert_code(result, ErrorCode::WRONG_STATE);
        assert_true(fixture.Load(job).state == row.from);
      } else {
        assert_ok(result);
        assert_true(Letter(*result) == row.changes[change]);
        assert_true(fixture.Load(job).state == *result);
      }
    }
  }
  const auto missing = fixture.Change(999, JobChange::kCancel);
  assert_code(missing, ErrorCode::NO_SUCH_JOB);
}

void RecordIsKeptWhole(void**) {
  Fixture fixture;
  const JobRecord made = Example();
  const int64_t id = fixture.Insert(made);
  const JobRecord job = fixture.Load(id);
  assert_int_equal(job.id, id);
  assert_text(job.name, made.name);
  assert_true(job.model_spec == made.model_spec);
  assert_true(job.training == made.training);
  assert_true(job.budget == made.budget);
  assert_true(job.data == made.data);
  assert_true(job.validation == made.validation);
  assert_true(job.plan == made.plan);
  assert_text(job.labels, made.labels);
  assert_text(job.directory, fixture.state.path() + "/jobs/" + std::to_string(id));
  assert_int_equal(job.retries_left, 3);
  assert_true(job.state == JobState::kQueued);
  auto reader = fixture.state.NewReader();
  assert_int_equal(**JobOfToken(*reader, "token"), id);
  assert_false(JobOfToken(*reader, "other")->has_value());
  assert_false(JobOfToken(*reader, "")->has_value());
  assert_int_equal(**NewestJobNamed(*reader, "nightly"), id);
  assert_int_equal(LoadSettings(*reader, id)->size(), 2);
  assert_text((*LoadSettings(*reader, id))[1].name, "learning_rate");  // in the order given
}

void SameTokenCannotBeTwice(void**) {
  Fixture fixture;
  fixture.Insert(Example());
  const Status status = fixture.Write(
      [&](Transaction& t) { return InsertJob(t, Example(), {}, fixture.state.path(), 1).status(); });
  assert_false(status.ok());
}

void TimesAndReasonsFollowTheState(void**) {
  Fixture fixture;
  const int64_t id = fixture.Insert(Example());
  assert_ok(fixture.Change(id, JobChange::kStart, "", 1001));
  assert_ok(fixture.Change(id, JobChange::kPrepared, "", 1002));
  assert_ok(fixture.Change(id, JobChange::kFail, "NON_FINITE: loss is NaN at step 7", 1003));
  JobRecord job = fixture.Load(id);
  assert_true(job.started_at == 1001.0);
  assert_true(job.ended_at == 1003.0);
  assert_text(job.reason, "NON_FINITE: loss is NaN at step 7");
  assert_ok(fixture.Write([&](Transaction& t) { return TakeRetry(t, id).status(); }));
  assert_int_equal(fixture.Load(id).retries_left, 2);
  assert_ok(fixture.Change(id, JobChange::kRetry, "", 1004));
  job = fixture.Load(id);
  assert_true(job.started_at == 1001.0);
  assert_false(job.ended_at.has_value());
  assert_text(job.reason, "");
  assert_int_equal(job.retries_left, 3);
  const auto events = fixture.Events(id);
  assert_text(events.front(), "state QUEUED: submitted");
  assert_text(events[3], "state FAILED: NON_FINITE: loss is NaN at step 7");
}

void RequestsOutliveTheirWorker(void**) {
  Fixture fixture;
  const int64_t id = fixture.Insert(Example());
  const auto request = [&](JobRequest wanted) {
    return fixture.Write([&](Transaction& t) { return SetRequest(t, id, wanted, 1); });
  };
  assert_code(request(JobRequest::kPause), ErrorCode::WRONG_STATE);  // QUEUED: Apply does it at once
  assert_ok(fixture.Change(id, JobChange::kStart));
  assert_ok(fixture.Change(id, JobChange::kPrepared));
  assert_ok(request(JobRequest::kCheckpoint));
  assert_ok(request(JobRequest::kPause));
  assert_ok(request(JobRequest::kCheckpoint));  // the pause writes one
  assert_true(fixture.Load(id).request == JobRequest::kPause);
  assert_true(*fixture.Change(id, JobChange::kRequeue) == JobState::kPaused);
  assert_true(fixture.Load(id).request == JobRequest::kNone);

  assert_ok(fixture.Change(id, JobChange::kResume));
  assert_ok(fixture.Change(id, JobChange::kStart));
  assert_ok(request(JobRequest::kCancel));
  assert_true(*fixture.Change(id, JobChange::kRequeue) == JobState::kCancelled);

  assert_ok(fixture.Change(id, JobChange::kResume));
  assert_ok(fixture.Change(id, JobChange::kStart));
  assert_ok(fixture.Change(id, JobChange::kPrepared));
  assert_ok(request(JobRequest::kCheckpoint));
  assert_true(*fixture.Change(id, JobChange::kRequeue) == JobState::kQueued);
  assert_true(fixture.Load(id).request == JobRequest::kCheckpoint);  // still wanted
}

void AttemptsUsageAndMeasures(void**) {
  Fixture fixture;
  const int64_t id = fixture.Insert(Example());
  auto reader = fixture.state.NewReader();
  assert_ok(fixture.Write([&](Transaction& t) -> Status {
    TRAIND_ASSIGN(const int64_t first, BeginAttempt(t, id, "local:0", 10));
    TRAIND_TRY(SetAttemptProcess(t, id, first, 4711));
    TRAIND_TRY(EndAttempt(t, id, first, "WORKER_DIED", 20));
    TRAIND_ASSIGN(const int64_t second, BeginAttempt(t, id, "local:0", 30));
    TRAIND_TRY(AddUsage(t, id, 10, 2, 3.6));
    TRAIND_TRY(AddUsage(t, id, 5, 1));
    TRAIND_TRY(SetMeasured(t, id, 100, 12.5));
    TRAIND_TRY(SetMeasured(t, id, 50, std::nullopt));
    return second == 2 ? Status() : Status(ErrorCode::INTERNAL, "second attempt");
  }));
  const auto open = OpenAttempts(*reader);
  assert_ok(open);
  assert_int_equal(open->size(), 1);
  assert_int_equal((*open)[0].attempt, 2);
  assert_false((*open)[0].pid.has_value());
  const auto jobs = reader->UserQuery("SELECT gpu_seconds, cost, peak_bytes, step_ms FROM sys_jobs", {}, 10);
  assert_ok(jobs);
  assert_true(std::get<double>(jobs->rows[0][0]) == 25);
  assert_true(std::abs(std::get<double>(jobs->rows[0][1]) - 0.02) < 1e-12);
  assert_int_equal(std::get<int64_t>(jobs->rows[0][2]), 100);
  assert_true(std::get<double>(jobs->rows[0][3]) == 12.5);
  const auto attempts =
      reader->UserQuery("SELECT attempt, outcome FROM sys_attempts ORDER BY attempt", {}, 10);
  assert_text(std::get<std::string>(attempts->rows[0][1]), "WORKER_DIED");
}

void CheckpointsAndVersions(void**) {
  Fixture fixture;
  const int64_t id = fixture.Insert(Example());
  const JobRecord job = fixture.Load(id);
  auto reader = fixture.state.NewReader();
  assert_ok(fixture.Write([&](Transaction& t) -> Status {
    for (const int64_t step : {10, 20, 30}) TRAIND_TRY(AddCheckpoint(t, id, step, "/c", 5, std::nullopt, 1));
    TRAIND_TRY(SetCheckpointState(t, id, 30, "damaged"));
    TRAIND_ASSIGN(const int64_t first, AddVersion(t, job, 20, 1000, 2.5, "/v1", 2));
    TRAIND_ASSIGN(const int64_t second, AddVersion(t, job, 30, 2000, std::nullopt, "/v2", 3));
    return first == 1 && second == 2 ? Status() : Status(ErrorCode::INTERNAL, "numbers");
  }));
  const auto complete = CompleteCheckpoints(*reader, id);
  assert_int_equal(complete->size(), 2);
  assert_int_equal((*complete)[0].step, 20);
  assert_int_equal(*fixture.Load(id).to_version, 2);
  assert_int_equal(std::get<int64_t>(reader->UserQuery("SELECT versions FROM sys_models", {}, 1)->rows[0][0]),
                   2);
  assert_ok(fixture.Write([](Transaction& t) { return t.Run("DELETE FROM _models"); }));
  assert_int_equal(reader->UserQuery("SELECT * FROM sys_versions", {}, 10)->rows.size(), 0);
  assert_code(fixture.Write([&](Transaction& t) { return AddVersion(t, job, 1, 1, {}, "/v3", 4).status(); }),
              ErrorCode::NO_SUCH_MODEL);
}

void PreparedDataReachesTheDataset(void**) {
  Fixture fixture;
  const JobRecord job = fixture.Load(fixture.Insert(Example()));
  assert_ok(fixture.Write([&](Transaction& t) -> Status {
    for (const DataSpec& data : {job.data.parts[0].data, job.validation->parts[0].data}) {
      TRAIND_TRY(t.Run("INSERT INTO _datasets(name, spec, created_at) VALUES (?1, ?2, 0.0)",
                       {data.name, DumpJson(DataToJson(data))}));
    }
    TRAIND_TRY(t.Run("UPDATE _datasets SET spec = '{}' WHERE name = 'v'"));  // redefined meanwhile
    return SetPrepared(t, job, {{100, 2, 98, 2, 110}}, {{50, 1, 49, 1, 111}}, 77);
  }));
  const JobRecord prepared = fixture.Load(job.id);
  assert_int_equal(prepared.data_tokens, 100);
  assert_int_equal(prepared.validation_tokens, 50);
  assert_int_equal(prepared.total_steps, 77);
  auto reader = fixture.state.NewReader();
  const auto rows = reader->UserQuery("SELECT tokens FROM sys_datasets ORDER BY name", {}, 10)->rows;
  assert_int_equal(std::get<int64_t>(rows[0][0]), 100);
  assert_true(std::holds_alternative<std::monostate>(rows[1][0]));
}

void UnfinishedJobsOfAModel(void**) {
  Fixture fixture;
  JobRecord into = Example();
  into.client_token = "";
  into.target_model_id = 2;
  const int64_t id = fixture.Insert(into);
  auto reader = fixture.state.NewReader();
  assert_false(UnfinishedJobOf(*reader, 1, false)->has_value());
  assert_int_equal(**UnfinishedJobOf(*reader, 1, true), id);
  assert_int_equal(**UnfinishedJobOf(*reader, 2, false), id);
  assert_int_equal(UnfinishedJobs(*reader)->size(), 1);
  assert_ok(fixture.Change(id, JobChange::kCancel));
  assert_false(UnfinishedJobOf(*reader, 2, false)->has_value());
  assert_int_equal(UnfinishedJobs(*reader)->size(), 0);
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(TableIsTheLanguages),
      cmocka_unit_test(ApplyKeepsToTheTable),
      cmocka_unit_test(RecordIsKeptWhole),
      cmocka_unit_test(SameTokenCannotBeTwice),
      cmocka_unit_test(TimesAndReasonsFollowTheState),
      cmocka_unit_test(RequestsOutliveTheirWorker),
      cmocka_unit_test(AttemptsUsageAndMeasures),
      cmocka_unit_test(CheckpointsAndVersions),
      cmocka_unit_test(PreparedDataReachesTheDataset),
      cmocka_unit_test(UnfinishedJobsOfAModel),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
