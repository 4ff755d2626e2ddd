// A budget's marks, its end, and the warning of a pace that will not do.
#include "daemon/supervisor/meter.h"

#include "tests/support/test.h"

namespace traind::daemon {
namespace {

Budget WallClock(double seconds) {
  Budget budget;
  budget.wall_clock_seconds = seconds;
  return budget;
}

void marks_come_once_each(void**) {
  BudgetMeter meter(WallClock(100), {}, 0);
  assert_true(meter.Advance(49, 0).empty());
  const auto half = meter.Advance(50, 0);
  assert_int_equal(half.size(), 1);
  assert_int_equal(half[0].percent, 50);
  assert_text(half[0].term, "wall_clock");
  assert_true(meter.Advance(60, 0).empty());
  assert_int_equal(meter.Advance(95, 0)[0].percent, 90);  // the highest of those passed at once
  assert_false(meter.Exhausted(99.9, 0).has_value());
  assert_int_equal(meter.Advance(100, 0)[0].percent, 100);
  assert_true(meter.Exhausted(100, 0).has_value());
  assert_true(meter.Advance(200, 0).empty());
}

void earlier_attempts_count(void**) {
  Budget budget = WallClock(100);
  budget.gpu_hours = 1;
  BudgetMeter meter(budget, {80, 80, 1, 0}, 0);
  assert_true(meter.Advance(1, 0).empty());  // 80 % was reported then
  assert_true(*meter.SecondsLeft(5, 0) == 15);
  assert_int_equal(meter.Advance(20, 0)[0].percent, 100);
}

void gpu_hours_count_devices(void**) {
  Budget budget;
  budget.gpu_hours = 1;
  BudgetMeter meter(budget, {0, 1800, 2, 0}, 0);
  assert_true(*meter.SecondsLeft(0, 0) == 900);
  assert_int_equal(meter.Advance(540, 0)[0].percent, 80);
  assert_true(meter.Exhausted(900, 0).has_value());
}

void a_deadline_counts_from_the_submission(void**) {
  Budget budget;
  budget.deadline = 2000;
  BudgetMeter meter(budget, {0, 0, 1, 1000}, 1100);
  assert_true(meter.Advance(0, 1499).empty());
  assert_int_equal(meter.Advance(0, 1500)[0].percent, 50);
  assert_true(*meter.SecondsLeft(0, 1900) == 100);
  assert_true(meter.Exhausted(0, 2000).has_value());
}

void the_tightest_term_counts(void**) {
  Budget budget = WallClock(1000);
  budget.gpu_hours = 0.1;
  BudgetMeter meter(budget, {}, 0);
  assert_true(*meter.SecondsLeft(0, 0) == 360);
  assert_text(meter.Exhausted(360, 0)->term, "gpu_hours");
}

void a_new_budget_starts_its_marks_anew(void**) {
  BudgetMeter meter(WallClock(100), {}, 0);
  assert_int_equal(meter.Advance(95, 0)[0].percent, 90);
  meter.SetBudget(WallClock(1000), 95, 0);
  assert_false(meter.Exhausted(100, 0).has_value());
  assert_int_equal(meter.Advance(500, 0)[0].percent, 50);
  meter.SetBudget(WallClock(10), 500, 0);  // lowered below what is used
  assert_int_equal(meter.Advance(500, 0)[0].percent, 100);
}

void a_slow_pace_is_said_once(void**) {
  BudgetMeter meter(WallClock(100), {}, 0);
  assert_false(meter.PaceWarning(10, 0, 89, 1).has_value());
  assert_true(meter.PaceWarning(10, 0, 120, 1).has_value());
  assert_false(meter.PaceWarning(11, 0, 120, 1).has_value());
  BudgetMeter none(Budget(), {}, 0);
  assert_false(none.PaceWarning(10, 0, 1000000, 1).has_value());
  assert_false(none.SecondsLeft(0, 0).has_value());
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(marks_come_once_each),     cmocka_unit_test(earlier_attempts_count),
      cmocka_unit_test(gpu_hours_count_devices),  cmocka_unit_test(a_deadline_counts_from_the_submission),
      cmocka_unit_test(the_tightest_term_counts), cmocka_unit_test(a_new_budget_starts_its_marks_anew),
      cmocka_unit_test(a_slow_pace_is_said_once),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
