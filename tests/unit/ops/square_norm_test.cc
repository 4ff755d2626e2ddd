// The sum of squares against its definition.
#include "engine/ops/square_norm.h"

#include <cmath>
#include <limits>

#include "engine/device/cpu/cpu_device.h"
#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr int64_t kSizes[] = {1, 2, 15, 17, 63, 64, 65, 1000, 4097, 100000};

void AddsSquares(void**) {
  ForEachVariant([](OpRun& run) {
    for (int64_t size : kSizes) {
      const Values x = RandomValues(size, 1);
      double sum = 5;
      assert_ok(ops::SquareNorm(*run.context, size, Tensor(x).data(), &sum));
      const double expected = 5 + Dot(x, x);
      assert_true(std::fabs(sum - expected) <= 1e-13 * expected * std::sqrt(static_cast<double>(size)));
    }
  });
}

void ThreadsDoNotChangeTheBits(void**) {
  const Tensor x(RandomValues(99991, 1));
  double one = 0;
  OpRun single = OpenOpRun(WidestInstructionSet(), 1, true);
  assert_ok(ops::SquareNorm(*single.context, x.elements(), x.data(), &one));
  for (int threads : {2, 3, 7}) {
    double several = 0;
    OpRun run = OpenOpRun(WidestInstructionSet(), threads, true);
    assert_ok(ops::SquareNorm(*run.context, x.elements(), x.data(), &several));
    assert_true(one == several);
  }
}

void OnlyNonFiniteElementsMakeItNonFinite(void**) {
  ForEachVariant([](OpRun& run) {
    const double most = std::numeric_limits<float>::max();
    double sum = 0;
    assert_ok(ops::SquareNorm(*run.context, 1000, Tensor(Values(1000, most)).data(), &sum));
    assert_true(std::isfinite(sum));
    for (int64_t at : {0, 777, 999}) {
      Values x(1000, 1.0);
      x[at] = std::numeric_limits<double>::quiet_NaN();
      sum = 0;
      assert_ok(ops::SquareNorm(*run.context, 1000, Tensor(x).data(), &sum));
      assert_true(std::isnan(sum));
    }
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::AddsSquares),
      cmocka_unit_test(traind::ThreadsDoNotChangeTheBits),
      cmocka_unit_test(traind::OnlyNonFiniteElementsMakeItNonFinite),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
