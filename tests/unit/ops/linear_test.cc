// Linear against the reference.
#include "engine/ops/linear.h"

#include <cmath>

#include "engine/device/cpu/cpu_device.h"
#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr auto kTurned = ops::WeightOrder::kInputOutput;
constexpr ops::LinearShape kShapes[] = {{1, 1, 1},
                                        {1, 64, 192},
                                        {3, 5, 7},
                                        {64, 64, 192},
                                        {65, 33, 17},
                                        {17, 96, 1},
                                        {1, 130, 257},
                                        {128, 96, 250},
                                        {100, 1, 30},
                                        {31, 300, 40},
                                        {5, 600, 1100},
                                        {200, 520, 70},
                                        {1, 64, 192, kTurned},
                                        {3, 5, 7, kTurned},
                                        {65, 33, 17, kTurned},
                                        {128, 96, 250, kTurned},
                                        {31, 300, 40, kTurned},
                                        {5, 600, 1100, kTurned},
                                        {200, 520, 70, kTurned}};

// Sums of k products of numbers around 1, rounded at each step.
double Tolerance(int64_t k) {
  return 3e-7 * (4 + std::sqrt(static_cast<double>(k)));
}

struct Inputs {
  explicit Inputs(const ops::LinearShape& shape)
      : x(RandomValues(shape.rows * shape.inputs, 1)),
        weight(RandomValues(shape.outputs * shape.inputs, 2)),
        bias(RandomValues(shape.outputs, 4)),
        dy(RandomValues(shape.rows * shape.outputs, 3)) {}
  Values x, weight, bias, dy;
};

void Forward(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::LinearShape& shape : kShapes) {
      const Inputs in(shape);
      Tensor y(shape.rows * shape.outputs);
      assert_ok(ops::LinearForward(*run.context, shape, Tensor(in.x).data(), Tensor(in.weight).data(),
                                   nullptr, y.data(), run.workspace));
      const Values expected = reference::LinearForward(shape, in.x, in.weight);
      assert_close(y, expected, Tolerance(shape.inputs));
      assert_ok(ops::LinearForward(*run.context, shape, Tensor(in.x).data(), Tensor(in.weight).data(),
                                   Tensor(in.bias).data(), y.data(), run.workspace));
      assert_close(y, reference::BiasForward({shape.rows, shape.outputs}, in.bias, expected),
                   Tolerance(shape.inputs));
    }
  });
}

void BackwardInputWritesOrAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::LinearShape& shape : kShapes) {
      const Inputs in(shape);
      const Values written = reference::LinearBackwardInput(shape, in.dy, in.weight);
      Tensor dx(shape.rows * shape.inputs);
      assert_ok(ops::LinearBackwardInput(*run.context, shape, Tensor(in.dy).data(), Tensor(in.weight).data(),
                                         dx.data(), ops::Accumulate::kNo, run.workspace));
      assert_close(dx, written, Tolerance(shape.outputs));
      Values added = written;
      for (size_t i = 0; i < added.size(); ++i) added[i] += in.x[i];
      Tensor sum(in.x);
      assert_ok(ops::LinearBackwardInput(*run.context, shape, Tensor(in.dy).data(), Tensor(in.weight).data(),
                                         sum.data(), ops::Accumulate::kYes, run.workspace));
      assert_close(sum, added, Tolerance(shape.outputs));
    }
  });
}

void BackwardWeightWritesOrAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::LinearShape& shape : kShapes) {
      const Inputs in(shape);
      Values expected = reference::LinearBackwardWeight(shape, in.dy, in.x);
      Tensor dweight(in.weight);
      assert_ok(ops::LinearBackwardWeight(*run.context, shape, Tensor(in.dy).data(), Tensor(in.x).data(),
                                          dweight.data(), ops::Accumulate::kNo, run.workspace));
      assert_close(dweight, expected, Tolerance(shape.rows));
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += in.weight[i];
      dweight = Tensor(in.weight);
      assert_ok(ops::LinearBackwardWeight(*run.context, shape, Tensor(in.dy).data(), Tensor(in.x).data(),
                                          dweight.data(), ops::Accumulate::kYes, run.workspace));
      assert_close(dweight, expected, Tolerance(shape.rows));
    }
  });
}

void ForgetsOldProductsAndStaysRight(void**) {
  OpRun run = OpenOpRun(WidestInstructionSet(), 1, false);
  for (int64_t rows = 1; rows <= ops::kMaxPreparedProducts + 10; ++rows) {
    const ops::LinearShape shape = {rows % (ops::kMaxPreparedProducts + 5) + 1, 3, 2};
    const Inputs in(shape);
    Tensor y(shape.rows * shape.outputs);
    assert_ok(ops::LinearForward(*run.context, shape, Tensor(in.x).data(), Tensor(in.weight).data(), nullptr,
                                 y.data(), run.workspace));
    assert_close(y, reference::LinearForward(shape, in.x, in.weight), Tolerance(3));
  }
}

void RefusesASmallWorkspace(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, false);
  Tensor x(Values(4, 1.0)), weight(Values(4, 1.0)), y(Values(4, 7.0));
  const Workspace small = {run.workspace.data, LinearWorkspaceBytes(1) - 1};
  assert_code(ops::LinearForward(*run.context, {2, 2, 2}, x.data(), weight.data(), nullptr, y.data(), small),
              ErrorCode::INTERNAL);
  assert_code(
      ops::LinearForward(*run.context, {2, 2, -2}, x.data(), weight.data(), nullptr, y.data(), run.workspace),
      ErrorCode::INTERNAL);
  assert_true(y == Tensor(Values(4, 7.0)));
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::Forward),
      cmocka_unit_test(traind::BackwardInputWritesOrAdds),
      cmocka_unit_test(traind::BackwardWeightWritesOrAdds),
      cmocka_unit_test(traind::ForgetsOldProductsAndStaysRight),
      cmocka_unit_test(traind::RefusesASmallWorkspace),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
