// Old curves are thinned when metrics.db is too large, and nothing else is.
#include "daemon/retention.h"

#include "tests/unit/daemon/statement_fixture.h"

namespace traind::daemon {
namespace {

constexpr int64_t kSteps = 5000;

// Two jobs that have ended and one that runs, each with a row for every step and a validation at each 777th.
class Fixture : public testing::StatementFixture {
 public:
  Fixture() {
    Make();
    for (int64_t job = 1; job <= 3; ++job) {
      Do("TRAIN MODEL tiny FROM lic FOR 5000 STEPS");
      std::vector<MetricRow> rows;
      for (int64_t step = 1; step <= kSteps; ++step) {
        MetricRow row;
        row.step = step;
        row.loss = 2;
        if (step % 777 == 0) row.val_loss = 2;
        rows.push_back(row);
      }
      catalog().SubmitMetrics(job, std::move(rows), true);
      if (job < 3) Do("CANCEL JOB " + std::to_string(job));
    }
    Settle();
  }
  // Waits until what is queued is done.
  void Settle() {
    assert_ok(Write([](Transaction&) { return Status(); }));
  }
  int64_t Number(const std::string& sql) {
    const auto row = reader->QueryRow(sql);
    assert_ok(row);
    return std::get<int64_t>((**row)[0]);
  }
  int64_t Rows(int64_t job) {
    return Number("SELECT count(*) FROM sys_metrics WHERE job = " + std::to_string(job));
  }
  int64_t Keep(int64_t limit) {
    const auto thinned = KeepMetricsWithin(limit, &catalog(), *reader);
    assert_ok(thinned);
    Settle();
    return *thinned;
  }
};

void within_the_limit_nothing_is_touched(void**) {
  Fixture fixture;
  assert_int_equal(fixture.Keep(int64_t{1} << 30), 0);
  assert_int_equal(fixture.Number("SELECT count(*) FROM sys_metrics"), 3 * kSteps);
}

void ended_jobs_are_thinned(void**) {
  Fixture fixture;
  assert_int_equal(fixture.Keep(1), 2);
  for (const int64_t job : {1, 2}) {
    const std::string of_job = " FROM sys_metrics WHERE job = " + std::to_string(job);
    const int64_t rows = fixture.Rows(job);
    assert_true(rows >= kThinnedRows && rows <= kThinnedRows + 10);
    assert_int_equal(fixture.Number("SELECT min(step)" + of_job), 1);
    assert_int_equal(fixture.Number("SELECT max(step)" + of_job), kSteps);
    assert_int_equal(fixture.Number("SELECT count(val_loss)" + of_job), kSteps / 777);
  }
  assert_int_equal(fixture.Rows(3), kSteps);  // it has not ended
  assert_int_equal(fixture.Keep(1), 0);       // nothing is left to thin
}

void the_oldest_go_first_and_no_more_than_needed(void**) {
  Fixture fixture;
  const int64_t used =
      fixture.Number("PRAGMA metrics.page_count") * fixture.Number("PRAGMA metrics.page_size");
  assert_int_equal(fixture.Keep(used - 1), 1);
  assert_true(fixture.Rows(1) < kSteps);
  assert_int_equal(fixture.Rows(2), kSteps);
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(within_the_limit_nothing_is_touched),
      cmocka_unit_test(ended_jobs_are_thinned),
      cmocka_unit_test(the_oldest_go_first_and_no_more_than_needed),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
