// Learned positions against the reference.
#include "engine/ops/position.h"

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::PositionShape kShapes[] = {
    {1, 1, 1, 1, 0}, {1, 7, 9, 64, 2}, {3, 17, 17, 33, 0}, {4, 64, 100, 96, 5}, {2, 130, 256, 17, 0}};

void Forward(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::PositionShape& shape : kShapes) {
      const Values weight = RandomValues(shape.positions * shape.channels, 1);
      const Values x = RandomValues(shape.batch * shape.sequence * shape.channels, 2);
      Tensor y(x);
      assert_ok(ops::PositionForward(*run.context, shape, Tensor(weight).data(), y.data()));
      assert_close(y, reference::PositionForward(shape, weight, x), 1e-7);
    }
  });
}

void BackwardWeightAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::PositionShape& shape : kShapes) {
      const Values dx = RandomValues(shape.batch * shape.sequence * shape.channels, 2);
      const Values before = RandomValues(shape.positions * shape.channels, 3);
      Values expected = reference::PositionBackwardWeight(shape, dx);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += before[i];
      Tensor dweight(before);
      assert_ok(ops::PositionBackwardWeight(*run.context, shape, Tensor(dx).data(), dweight.data()));
      assert_close(dweight, expected, 1e-6);
    }
  });
}

void RefusesPositionsBeyondTheTable(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, true);
  Tensor weight(Values(8, 1.0)), x(Values(8, 5.0));
  for (const ops::PositionShape& bad :
       {ops::PositionShape{1, 4, 4, 2, 1}, {1, 4, 4, 2, -1}, {1, 4, 3, 2, 0}, {0, 4, 4, 2, 0}}) {
    assert_code(ops::PositionForward(*run.context, bad, weight.data(), x.data()), ErrorCode::INTERNAL);
    assert_code(ops::PositionBackwardWeight(*run.context, bad, x.data(), weight.data()), ErrorCode::INTERNAL);
  }
  assert_true(x == Tensor(Values(8, 5.0)));
  assert_code(ops::PositionForward<float>(*run.context, {1, 4, 4, 2, 0}, nullptr, x.data()),
              ErrorCode::INTERNAL);
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::Forward),
      cmocka_unit_test(traind::BackwardWeightAdds),
      cmocka_unit_test(traind::RefusesPositionsBeyondTheTable),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
