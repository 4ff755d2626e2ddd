// The loop's histogram against exact percentiles.
#include "daemon/lag_meter.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/test.h"

namespace traind::daemon {
namespace {

void an_empty_meter_says_nothing(void**) {
  const LagMeter meter;
  assert_int_equal(meter.turns(), 0);
  assert_true(meter.QuantileMs(0.99) == 0);
}

void percentiles_are_within_an_eighth(void**) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> lengths(11, 3);
  LagMeter meter;
  std::vector<int64_t> all;
  for (int i = 0; i < 20000; ++i) {
    all.push_back(static_cast<int64_t>(lengths(random)));
    meter.Record(all.back());
  }
  std::ranges::sort(all);
  for (const double quantile : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto index = static_cast<size_t>(std::ceil(quantile * 20000)) - 1;
    const double exact = static_cast<double>(all[index]) * 1e-6;
    const double got = meter.QuantileMs(quantile);
    if (got < exact || got > exact * 1.126 + 1e-6) fail_msg("%g: %g, exactly %g", quantile, got, exact);
  }
  assert_int_equal(meter.max_ns(), all.back());
}

void extremes_are_counted(void**) {
  LagMeter meter;
  meter.Record(-5);
  meter.Record(0);
  meter.Record(INT64_MAX);
  assert_int_equal(meter.turns(), 3);
  assert_true(meter.QuantileMs(1) > 1e6);
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(an_empty_meter_says_nothing),
      cmocka_unit_test(percentiles_are_within_an_eighth),
      cmocka_unit_test(extremes_are_counted),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
