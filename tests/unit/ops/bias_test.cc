// Bias against the reference.
#include "engine/ops/bias.h"

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::BiasShape kShapes[] = {{1, 1}, {1, 64}, {3, 17}, {65, 33}, {257, 300}, {2, 1000}, {130, 256}};

void BackwardWeightAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::BiasShape& shape : kShapes) {
      const Values dy = RandomValues(shape.rows * shape.channels, 2);
      const Values before = RandomValues(shape.channels, 3);
      Values expected = reference::BiasBackwardWeight(shape, dy);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += before[i];
      Tensor dbias(before);
      assert_ok(ops::BiasBackwardWeight(*run.context, shape, Tensor(dy).data(), dbias.data()));
      assert_close(dbias, expected, 2e-6);
    }
  });
}

void RefusesNothings(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, true);
  Tensor x(Values(8, 1.0));
  assert_code(ops::BiasBackwardWeight(*run.context, {0, 4}, x.data(), x.data()), ErrorCode::INTERNAL);
  assert_code(ops::BiasBackwardWeight<float>(*run.context, {2, 4}, nullptr, x.data()), ErrorCode::INTERNAL);
  assert_code(ops::BiasBackwardWeight(*run.context, {2, 4}, x.data(), nullptr), ErrorCode::INTERNAL);
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::BackwardWeightAdds),
      cmocka_unit_test(traind::RefusesNothings),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
