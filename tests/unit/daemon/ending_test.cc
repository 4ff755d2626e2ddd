// What becomes of a job when its attempt ends: every kind of ending with every reason to stop.
#include "daemon/supervisor/ending.h"

#include "tests/support/test.h"

namespace traind::daemon {
namespace {

JobRecord WithTarget() {
  JobRecord job;
  job.id = 7;
  job.training.target.steps = 100;
  return job;
}

JobRecord BudgetAsTarget() {
  JobRecord job = WithTarget();
  job.training.target = Target();
  return job;
}

AttemptEnding Finished(std::string outcome, StopReason stop = StopReason::kNone) {
  AttemptEnding ending;
  ending.outcome = std::move(outcome);
  ending.stop = stop;
  ending.stop_detail = "wall_clock: 100 % used";
  return ending;
}

AttemptEnding Died(ErrorCode code, StopReason stop = StopReason::kNone) {
  AttemptEnding ending;
  ending.failure = Status(code, "text");
  ending.stop = stop;
  ending.stop_detail = "wall_clock: 100 % used";
  return ending;
}

void expect(const JobRecord& job, const AttemptEnding& ending, JobChange change, bool publish, bool retry) {
  const EndingDecision decision = DecideEnding(job, ending);
  if (decision.change != change || decision.publish != publish || decision.take_retry != retry) {
    fail_msg("outcome '%s', failure %s: change %d, publish %d, retry %d", ending.outcome.c_str(),
             ending.failure.ToString().c_str(), static_cast<int>(decision.change), decision.publish,
             decision.take_retry);
  }
}

void finished_attempts(void**) {
  const JobRecord job = WithTarget();
  expect(job, Finished("target"), JobChange::kSucceed, true, false);
  expect(job, Finished("until"), JobChange::kSucceed, true, false);
  expect(job, Finished("pause", StopReason::kPause), JobChange::kPause, false, false);
  expect(job, Finished("cancel", StopReason::kCancel), JobChange::kCancel, false, false);
  expect(job, Finished("shutdown", StopReason::kShutdown), JobChange::kRequeue, false, false);
  expect(job, Finished("nonsense"), JobChange::kFail, false, false);
  // It reached its target while it was to stop.
  expect(job, Finished("target", StopReason::kPause), JobChange::kSucceed, true, false);
}

void budgets_that_are_used_up(void**) {
  AttemptEnding ending = Finished("budget", StopReason::kBudget);
  expect(WithTarget(), ending, JobChange::kExceedBudget, true, false);
  expect(BudgetAsTarget(), ending, JobChange::kSucceed, true, false);
  ending = Finished("pause", StopReason::kBudget);
  ending.limit_action = LimitAction::kPause;
  expect(WithTarget(), ending, JobChange::kPause, false, false);
  ending = Finished("cancel", StopReason::kBudget);
  ending.limit_action = LimitAction::kFail;
  expect(WithTarget(), ending, JobChange::kFail, false, false);
  // The worker died while it saved: what was saved before is published.
  expect(WithTarget(), Died(ErrorCode::WORKER_DIED, StopReason::kBudget), JobChange::kExceedBudget, true,
         false);
}

void deaths(void**) {
  const JobRecord job = WithTarget();
  for (const ErrorCode code : {ErrorCode::WORKER_DIED, ErrorCode::WORKER_HUNG, ErrorCode::IO,
                               ErrorCode::FENCED, ErrorCode::MALFORMED_FRAME}) {
    expect(job, Died(code), JobChange::kRequeue, false, true);
  }
  for (const ErrorCode code : {ErrorCode::OUT_OF_MEMORY, ErrorCode::NON_FINITE, ErrorCode::FILE_NOT_FOUND,
                               ErrorCode::INVALID_ENCODING, ErrorCode::DATA_TOO_SHORT, ErrorCode::INTERNAL}) {
    expect(job, Died(code), JobChange::kFail, false, false);
  }
  expect(job, Died(ErrorCode::DISK_FULL), JobChange::kStall, false, false);
  expect(job, Died(ErrorCode::DISK_FULL, StopReason::kShutdown), JobChange::kStall, false, false);
  // It left with exit code 0 and said nothing.
  expect(job, AttemptEnding(), JobChange::kRequeue, false, true);
}

void deaths_while_stopping(void**) {
  const JobRecord job = WithTarget();
  expect(job, Died(ErrorCode::WORKER_DIED, StopReason::kPause), JobChange::kPause, false, false);
  expect(job, Died(ErrorCode::WORKER_DIED, StopReason::kCancel), JobChange::kCancel, false, false);
  expect(job, Died(ErrorCode::WORKER_HUNG, StopReason::kShutdown), JobChange::kRequeue, false, false);
}

void a_damaged_checkpoint_is_set_aside(void**) {
  AttemptEnding ending = Died(ErrorCode::DAMAGED_CHECKPOINT);
  ending.resumed_from = "/s/jobs/7/checkpoints/step-00000010";
  const EndingDecision decision = DecideEnding(WithTarget(), ending);
  assert_true(decision.change == JobChange::kRequeue);
  assert_true(decision.damaged_resume);
  assert_false(decision.take_retry);
  // Without one of its own to set aside there is nothing to fall back to.
  expect(WithTarget(), Died(ErrorCode::DAMAGED_CHECKPOINT), JobChange::kFail, false, false);
}

void reasons_carry_the_class(void**) {
  assert_text(DecideEnding(WithTarget(), Died(ErrorCode::NON_FINITE)).reason, "NON_FINITE: text");
  AttemptEnding ending = Finished("cancel", StopReason::kBudget);
  ending.limit_action = LimitAction::kFail;
  assert_text(DecideEnding(WithTarget(), ending).reason, "BUDGET_EXCEEDED: wall_clock: 100 % used");
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(finished_attempts),
      cmocka_unit_test(budgets_that_are_used_up),
      cmocka_unit_test(deaths),
      cmocka_unit_test(deaths_while_stopping),
      cmocka_unit_test(a_damaged_checkpoint_is_set_aside),
      cmocka_unit_test(reasons_carry_the_class),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
