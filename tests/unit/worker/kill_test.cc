// kill -9 of a worker at random moments and at every named fault point: the next attempt goes on from the
// newest checkpoint, and losses and norms are those of a run that nothing happened to, bit for bit.
#include <algorithm>
#include <filesystem>
#include <random>

#include "engine/format/manifest.h"
#include "engine/plan/planner.h"
#include "tests/unit/train/tiny_run.h"
#include "tests/unit/worker/worker_process.h"

#include "tests/support/test.h"

namespace traind {
namespace {

using testing::Attempt;
using testing::ByStep;
using testing::Follow;
using testing::SameBits;
using testing::TaskMessage;
using testing::TinyRun;
using testing::WorkerProcess;

// A commit's share of reliability.md's counts.
constexpr int kRandomKills = 10;

void Prepare(TinyRun* run) {
  run->task.training.target.steps = 60;
  run->task.training.checkpoint_every_steps = 7;
  run->task.training.validate_every_steps = 10;
  run->task.training.keep_checkpoints = 2;
  run->task.validation = DataSpec{"v", {testing::kOtherText}, DataFormat::kText};
  const auto plan = run->MakePlan();
  assert_ok(plan);
  run->task.plan = plan::PlanToJson(*plan);
}

Attempt RunOnce(const TinyRun& run, const std::string& fault,
                const std::function<void(WorkerProcess*, const Attempt&)>& watch = {}) {
  WorkerProcess worker(fault);
  worker.Send(TaskMessage(run.task));
  return Follow(&worker, [&](const Json&, const Attempt& so_far) {
    if (watch) watch(&worker, so_far);
  });
}

// As the daemon does: the newest complete checkpoint there is, and its rows.
void GoOn(TinyRun* run, std::vector<std::vector<MetricRow>>* rows) {
  const auto found = format::ListCheckpoints(PosixIo(), run->task.checkpoint_directory);
  assert_ok(found);
  if (found->empty()) return;
  std::ifstream metrics(found->front().path + "/metrics.jsonl");
  std::vector<MetricRow> kept;
  for (std::string line; std::getline(metrics, line);) kept.push_back(*MetricRowFromJson(*ParseJson(line)));
  rows->push_back(std::move(kept));
  run->ResumeFrom(found->front().path);
}

void AssertGolden(const std::map<int64_t, MetricRow>& golden,
                  const std::vector<std::vector<MetricRow>>& rows) {
  const auto merged = ByStep(rows);
  assert_int_equal(merged.size(), golden.size());
  for (const auto& [step, row] : golden) assert_true(SameBits(row, merged.at(step)));
}

std::map<int64_t, MetricRow> Golden() {
  TinyRun run;
  Prepare(&run);
  const Attempt attempt = RunOnce(run, "");
  assert_true(attempt.end["outcome"] == "target");
  return ByStep({attempt.rows});
}

void SurvivesRandomKills(void**) {
  const auto golden = Golden();
  std::mt19937 random(1);
  int kills = 0;
  while (kills < kRandomKills) {
    TinyRun run;
    Prepare(&run);
    std::vector<std::vector<MetricRow>> rows;
    for (;;) {
      const size_t after_rows = random() % 40;
      const useconds_t delay_us = static_cast<useconds_t>(random() % 20000);
      bool killed = false;
      const Attempt attempt = RunOnce(run, "", [&](WorkerProcess* worker, const Attempt& so_far) {
        if (so_far.rows.size() < after_rows || kills >= kRandomKills || killed) return;
        usleep(delay_us);
        kill(worker->pid(), SIGKILL);
        killed = true;
      });
      rows.push_back(attempt.rows);
      if (!attempt.end.is_null() && attempt.end["type"] == "finished") break;
      assert_true(attempt.end.is_null() && WIFSIGNALED(attempt.status));
      ++kills;
      GoOn(&run, &rows);
    }
    AssertGolden(golden, rows);
  }
}

// Every point of a worker, the first time and later ones, as a kill and as a failure.
void SurvivesEveryFaultPoint(void**) {
  const auto golden = Golden();
  for (const std::string point : {"worker_start",
                                  "worker_step:1",
                                  "worker_step:9",
                                  "worker_step:60",
                                  "worker_finished",
                                  "checkpoint_shard:1",
                                  "checkpoint_shard:2",
                                  "checkpoint_shard:3",
                                  "checkpoint_shard:4",
                                  "checkpoint_shard:7",
                                  "checkpoint_manifest:1",
                                  "checkpoint_manifest:3",
                                  "publish_before_rename:1",
                                  "publish_before_rename:2",
                                  "publish_before_rename:3",
                                  "publish_before_rename:5",
                                  "publish_after_rename:1",
                                  "publish_after_rename:2",
                                  "publish_after_rename:3",
                                  "publish_after_rename:5"}) {
    for (const std::string action : {"kill", "error"}) {
      TinyRun run;
      Prepare(&run);
      std::vector<std::vector<MetricRow>> rows;
      const Attempt first = RunOnce(run, point + "=" + action);
      rows.push_back(first.rows);
      if (action == "kill") {
        assert_true(WIFSIGNALED(first.status));
      } else {
        assert_true(WIFEXITED(first.status) && first.end.is_object());
      }
      if (first.end.is_null() || first.end["type"] == "failed") {
        GoOn(&run, &rows);
        const Attempt second = RunOnce(run, "");
        assert_true(second.end["outcome"] == "target");
        rows.push_back(second.rows);
      }
      AssertGolden(golden, rows);
    }
  }
}

// A stopped worker beats no more; that is how the daemon sees it. Continued, it goes on as if nothing was.
void StoppedWorkerIsSilent(void**) {
  TinyRun run;
  Prepare(&run);
  WorkerProcess worker("worker_step:5=stop");
  worker.Send(TaskMessage(run.task));
  std::optional<Json> message = worker.Next();
  while (message) message = worker.Next(2.5);
  kill(worker.pid(), SIGCONT);
  const Attempt attempt = Follow(&worker);
  assert_true(attempt.end["outcome"] == "target");
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(SurvivesRandomKills),
      cmocka_unit_test(SurvivesEveryFaultPoint),
      cmocka_unit_test(StoppedWorkerIsSilent),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
