// SwiGLU against the reference.
#include "engine/ops/swiglu.h"

#include <cmath>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::SwigluShape kShapes[] = {{1, 1}, {1, 64}, {3, 17}, {65, 33}, {64, 192}, {2, 1000}};
constexpr double kTolerance = 1e-6;

void Forward(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::SwigluShape& shape : kShapes) {
      const Values gate_up = RandomValues(shape.rows * 2 * shape.channels, 1, 4);
      Tensor y(shape.rows * shape.channels);
      assert_ok(ops::SwigluForward(*run.context, shape, Tensor(gate_up).data(), y.data()));
      assert_close(y, reference::SwigluForward(shape, gate_up), kTolerance);
    }
  });
}

void BackwardInputAlsoInPlace(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::SwigluShape& shape : kShapes) {
      const Values gate_up = RandomValues(shape.rows * 2 * shape.channels, 1, 4);
      const Values dy = RandomValues(shape.rows * shape.channels, 2);
      const Values expected = reference::SwigluBackwardInput(shape, gate_up, dy);
      Tensor apart(shape.rows * 2 * shape.channels), in_place(gate_up);
      assert_ok(
          ops::SwigluBackwardInput(*run.context, shape, in_place.data(), Tensor(dy).data(), apart.data()));
      assert_close(apart, expected, kTolerance);
      assert_ok(
          ops::SwigluBackwardInput(*run.context, shape, in_place.data(), Tensor(dy).data(), in_place.data()));
      assert_true(in_place == apart);
    }
  });
}

// silu is 0 far below zero and its argument far above, without overflow between.
void Extremes(void**) {
  ForEachVariant([](OpRun& run) {
    const Values gates = {-1e30, -200, -90, -88, 88, 90, 200, 1e30};
    Values gate_up = gates;
    gate_up.resize(16, 1.0);
    Tensor y(8), dgate_up(16);
    assert_ok(ops::SwigluForward(*run.context, {1, 8}, Tensor(gate_up).data(), y.data()));
    assert_ok(ops::SwigluBackwardInput(*run.context, {1, 8}, Tensor(gate_up).data(),
                                       Tensor(Values(8, 1.0)).data(), dgate_up.data()));
    for (int i = 0; i < 8; ++i) {
      const double wanted = gates[i] > 0 ? gates[i] : 0;
      assert_true(std::fabs(y.data()[i] - wanted) <= 1e-6 * std::fabs(gates[i]));
      assert_true(std::fabs(dgate_up.data()[i] - (gates[i] > 0 ? 1 : 0)) <= 1e-6);
    }
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::Forward),
      cmocka_unit_test(traind::BackwardInputAlsoInPlace),
      cmocka_unit_test(traind::Extremes),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
