// RoPE against the reference.
#include "engine/ops/rope.h"

#include <cmath>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::RopeShape kShapes[] = {
    {1, 1, 1, 1, 2}, {2, 5, 3, 1, 6}, {3, 64, 4, 2, 16}, {1, 200, 2, 2, 34}};
constexpr double kTheta = 10000;

// Angles are rounded to fp32, as Hugging Face's are: an error of about position · 6e-8.
double Tolerance(const ops::RopeShape& shape) {
  return 1e-6 + 2e-7 * static_cast<double>(shape.sequence);
}

int64_t Elements(const ops::RopeShape& shape) {
  return shape.batch * shape.sequence * (shape.heads + 2 * shape.kv_heads) * shape.head_size;
}

void BothWays(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::RopeShape& shape : kShapes) {
      Tensor table(ops::RopeTableElements(shape.sequence, shape.head_size));
      assert_ok(ops::RopeTable(shape.sequence, shape.head_size, kTheta, table.data()));
      const Values qkv = RandomValues(Elements(shape), 1);
      Tensor forward(qkv), backward(qkv);
      assert_ok(ops::RopeForward(*run.context, shape, table.data(), forward.data()));
      assert_close(forward, reference::Rope(shape, kTheta, 1, qkv), Tolerance(shape));
      assert_ok(ops::RopeBackwardInput(*run.context, shape, table.data(), backward.data()));
      assert_close(backward, reference::Rope(shape, kTheta, -1, qkv), Tolerance(shape));
      assert_ok(ops::RopeBackwardInput(*run.context, shape, table.data(), forward.data()));
      assert_close(forward, qkv, 1e-6);
    }
  });
}

void TableIsCosinesThenSines(void**) {
  Tensor table(ops::RopeTableElements(3, 4));
  assert_ok(ops::RopeTable(3, 4, 100, table.data()));
  const Values expected = {1,           1,
                           0,           0,  //
                           std::cos(1), std::cos(0.1),
                           std::sin(1), std::sin(0.1),  //
                           std::cos(2), std::cos(0.2),
                           std::sin(2), std::sin(0.2)};
  assert_close(table, expected, 1e-7);
}

void RefusesOddHeads(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, true);
  Tensor table(Values(100, 0.0)), qkv(Values(100, 3.0));
  assert_code(ops::RopeTable(3, 5, 100, table.data()), ErrorCode::INTERNAL);
  assert_code(ops::RopeForward(*run.context, {1, 2, 1, 1, 5}, table.data(), qkv.data()), ErrorCode::INTERNAL);
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::BothWays),
      cmocka_unit_test(traind::TableIsCosinesThenSines),
      cmocka_unit_test(traind::RefusesOddHeads),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
