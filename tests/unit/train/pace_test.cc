// The budget as the target: how many steps are laid out, and that a run ends within its time.
#include "engine/train/pace.h"

#include <map>

#include "tests/unit/train/tiny_run.h"

#include "tests/support/test.h"

namespace traind::train {
namespace {

using testing::ScriptedSession;
using testing::TinyRun;

TrainingSpec Spec(Scheduler scheduler) {
  TrainingSpec training;
  training.scheduler = scheduler;
  training.warmup_steps = 10;
  return training;
}

void PaceIsMeasured(void**) {
  Pace pace({1.0, 2.0, 3.0});
  assert_true(pace.seconds().step == 1.0);
  pace.AddStep(0.5);  // the first stands in until there is another
  assert_true(pace.seconds().step == 0.5);
  pace.AddStep(0.25);
  assert_true(pace.seconds().step == 0.25);
  for (int i = 0; i < 20; ++i) pace.AddStep(0.125);
  assert_true(pace.seconds().step == 0.125);  // the window has forgotten the older one
  // Not measured yet, it is as wrong as the prediction of a step was.
  assert_true(pace.seconds().validation == 0.25);
  pace.AddValidation(5);
  pace.AddCheckpoint(6);
  pace.AddStall(7);
  assert_true(pace.seconds().validation == 5 && pace.seconds().checkpoint == 6 && pace.seconds().stall == 7);
}

void StepsAreLaidOut(void**) {
  TrainingSpec training = Spec(Scheduler::kWarmupStableDecay);
  assert_int_equal(LayOutSteps(training, {0.5, 0, 0}, 0, 100), 200);
  assert_int_equal(LayOutSteps(training, {0.5, 0, 0}, 40, 100), 240);
  assert_int_equal(LayOutSteps(training, {0.5, 0, 0}, 40, -3), 41);
  training.validate_every_steps = 10;
  assert_int_equal(LayOutSteps(training, {0.5, 5, 0}, 0, 100), 100);
  training.checkpoint_every_steps = 10;
  assert_int_equal(LayOutSteps(training, {0.5, 5, 10, 10}, 0, 100), 50);
  training.checkpoint_every_steps.reset();
  training.checkpoint_every_seconds = 10;
  assert_int_equal(LayOutSteps(training, {0.5, 5, 10, 10}, 0, 100), 50);
  assert_true(LayOutSteps(training, {0, 0, 0}, 0, 1e300) > 0);  // nonsense does not divide by zero
}

void DecayBeginsWhereTheScheduleSays(void**) {
  assert_int_equal(LastStableStep(Spec(Scheduler::kWarmupStableDecay), 100), 80);
  assert_int_equal(LastStableStep(Spec(Scheduler::kWarmupStableDecay), 5), 10);
  assert_int_equal(LastStableStep(Spec(Scheduler::kCosine), 100), 10);
  assert_true(LastStableStep(Spec(Scheduler::kConstant), 100) == INT64_MAX);
  // The rate is the same up to there and lower after.
  const TrainingSpec training = Spec(Scheduler::kWarmupStableDecay);
  assert_true(LearningRateAt(training, 80, 100) == LearningRateAt(training, 20, 100));
  assert_true(LearningRateAt(training, 81, 100) < LearningRateAt(training, 80, 100));
}

// Time that passes by what is done, so that runs are the same on any machine.
class WorkClock : public Clock {
 public:
  double WallSeconds() const override { return 1.8e9 + now; }
  double MonotonicSeconds() const override { return now; }
  double now = 1000;
};

class WorkSession : public ScriptedSession {
 public:
  explicit WorkSession(WorkClock* clock) : clock_(clock) {}

  double step_seconds = 0.5;
  double first_seconds = 3;  // what the first step takes longer
  double validation_seconds = 2;
  double snapshot_seconds = 1;
  int64_t slower_from = INT64_MAX;  // steps from here on take twice as long

  void Doing(std::string_view instruction, int64_t step, double deadline) override {
    ScriptedSession::Doing(instruction, step, deadline);
    if (instruction == "norm") clock_->now += step_seconds * (step >= slower_from ? 2 : 1);
    if (instruction == "norm" && !std::exchange(warm_, true)) clock_->now += first_seconds;
    if (instruction == "validate 0") clock_->now += validation_seconds;
    if (instruction == "snapshot") clock_->now += snapshot_seconds;
  }

 private:
  WorkClock* clock_;
  bool warm_ = false;
};

constexpr PaceSeconds kPredicted = {0.5, 2, 1};

void Prepare(TinyRun* run, Scheduler scheduler) {
  run->task.training.target = {};
  run->task.training.scheduler = scheduler;
  run->task.seconds_left = 100;
  run->task.validation = DataSpec{"v", {testing::kOtherText}, DataFormat::kText};
}

void EndsWithinTheBudget(void**) {
  for (const Scheduler scheduler :
       {Scheduler::kWarmupStableDecay, Scheduler::kCosine, Scheduler::kConstant}) {
    for (const double wrong : {0.001, 1.0, 1000.0}) {
      TinyRun run;
      Prepare(&run, scheduler);
      run.task.training.checkpoint_every_steps = 30;
      WorkClock clock;
      WorkSession session(&clock);
      const double begin = clock.now;
      const auto outcome = run.Run(&session, clock, PaceSeconds{0.5 * wrong, 2 * wrong, 1});
      assert_ok(outcome);
      assert_text(outcome->name, "target");
      const double used = clock.now - begin;
      assert_true(used <= 100 && used > 93);
      assert_true(session.rows.back().val_loss.has_value());
      assert_int_equal(session.checkpoints.back().step, outcome->step);
      if (scheduler == Scheduler::kConstant) continue;
      // It has decayed to its end, or nearly: the last step's rate is that of the schedule's last steps.
      assert_true(session.rows.back().learning_rate < 0.15 * run.task.training.learning_rate);
    }
  }
}

void EndsWithinTheBudgetEvenIfItBecomesSlower(void**) {
  TinyRun run;
  Prepare(&run, Scheduler::kWarmupStableDecay);
  WorkClock clock;
  WorkSession session(&clock);
  session.slower_from = 165;  // in the decay, where the end is settled
  const double begin = clock.now;
  const auto outcome = run.Run(&session, clock, kPredicted);
  assert_ok(outcome);
  assert_text(outcome->name, "target");
  assert_true(clock.now - begin <= 100 && clock.now - begin > 93);
  assert_true(outcome->step < session.total_steps.back());
}

void ResumedRunDecaysWhereItWouldHave(void**) {
  for (const size_t rows : {50, 170}) {
    TinyRun run;
    Prepare(&run, Scheduler::kWarmupStableDecay);
    WorkClock clock;
    WorkSession first(&clock);
    first.script = [&](int64_t, Requests* requests) {
      if (first.rows.size() == rows) requests->stop = StopReason::kPause;
    };
    const double begin = clock.now;
    const auto paused = run.Run(&first, clock, kPredicted);
    assert_ok(paused);
    run.ResumeFrom(paused->checkpoint);
    run.task.seconds_left -= clock.now - begin;
    run.task.total_steps = first.total_steps.back();
    WorkSession second(&clock);
    assert_ok(run.Run(&second, clock, kPredicted));
    assert_true(clock.now - begin <= 100);
    const bool decaying = rows == 170;
    // Settled totals stay; others are laid out anew, and come out alike.
    if (decaying)
      assert_true(second.total_steps.empty() || second.total_steps.back() <= first.total_steps.back());
    assert_true(std::llabs(second.checkpoints.back().total_steps - first.total_steps.back()) <= 12);
  }
}

void OneStepAtLeast(void**) {
  TinyRun run;
  Prepare(&run, Scheduler::kWarmupStableDecay);
  WorkClock clock;
  WorkSession session(&clock);
  session.step_seconds = 200;
  const auto outcome = run.Run(&session, clock, PaceSeconds{200, 2, 1});
  assert_ok(outcome);
  assert_int_equal(outcome->step, 1);
}

}  // namespace
}  // namespace traind::train

int main() {
  using namespace traind::train;
  const CMUnitTest tests[] = {
      cmocka_unit_test(PaceIsMeasured),
      cmocka_unit_test(StepsAreLaidOut),
      cmocka_unit_test(DecayBeginsWhereTheScheduleSays),
      cmocka_unit_test(EndsWithinTheBudget),
      cmocka_unit_test(EndsWithinTheBudgetEvenIfItBecomesSlower),
      cmocka_unit_test(ResumedRunDecaysWhereItWouldHave),
      cmocka_unit_test(OneStepAtLeast),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
