// GELU against the reference.
#include "engine/ops/gelu.h"

#include <cmath>
#include <limits>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr int64_t kSizes[] = {1, 15, 16, 64, 211, 4096, 20001};
constexpr double kTolerance = 1e-6;

void Forward(void**) {
  ForEachVariant([](OpRun& run) {
    for (const int64_t elements : kSizes) {
      const Values x = RandomValues(elements, 1, 3);
      Tensor y(elements);
      assert_ok(ops::GeluForward(*run.context, elements, Tensor(x).data(), y.data()));
      assert_close(y, reference::GeluForward(x), kTolerance);
    }
  });
}

void BackwardInputAlsoInPlace(void**) {
  ForEachVariant([](OpRun& run) {
    for (const int64_t elements : kSizes) {
      const Values x = RandomValues(elements, 1, 3), dy = RandomValues(elements, 2);
      Tensor apart(elements), in_place(x);
      assert_ok(
          ops::GeluBackwardInput(*run.context, elements, in_place.data(), Tensor(dy).data(), apart.data()));
      assert_close(apart, reference::GeluBackwardInput(x, dy), kTolerance);
      assert_ok(ops::GeluBackwardInput(*run.context, elements, in_place.data(), Tensor(dy).data(),
                                       in_place.data()));
      assert_true(in_place == apart);
    }
  });
}

// 0 far below zero and its argument far above, without overflow between.
void Extremes(void**) {
  ForEachVariant([](OpRun& run) {
    const Values x = {-1e30, -200, -16, -12, 12, 16, 200, 1e30};
    Tensor y(8), dx(8);
    assert_ok(ops::GeluForward(*run.context, 8, Tensor(x).data(), y.data()));
    assert_ok(
        ops::GeluBackwardInput(*run.context, 8, Tensor(x).data(), Tensor(Values(8, 1.0)).data(), dx.data()));
    for (int i = 0; i < 8; ++i) {
      const double wanted = x[i] > 0 ? x[i] : 0;
      assert_true(std::fabs(y.data()[i] - wanted) <= 1e-6 * std::fabs(x[i]));
      assert_true(std::fabs(dx.data()[i] - (x[i] > 0 ? 1 : 0)) <= 1e-6);
    }
  });
}

void NotANumberShows(void**) {
  ForEachVariant([](OpRun& run) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Tensor x(Values({1, nan, 1})), y(3), dx(3), dy(Values(3, 1.0));
    assert_ok(ops::GeluForward(*run.context, 3, x.data(), y.data()));
    assert_ok(ops::GeluBackwardInput(*run.context, 3, x.data(), dy.data(), dx.data()));
    assert_true(std::isnan(y.data()[1]) && std::isnan(dx.data()[1]));
    assert_true(std::isfinite(y.data()[0]) && std::isfinite(dx.data()[2]));
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::Forward),
      cmocka_unit_test(traind::BackwardInputAlsoInPlace),
      cmocka_unit_test(traind::Extremes),
      cmocka_unit_test(traind::NotANumberShows),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
