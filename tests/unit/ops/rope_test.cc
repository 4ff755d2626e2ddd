// RoPE against the reference.
#include "engine/ops/rope.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

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
      assert_ok(ops::RopeTable(shape.sequence, shape.head_size, {.theta = kTheta}, table.data()));
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
  assert_ok(ops::RopeTable(3, 4, {.theta = 100}, table.data()));
  const Values expected = {1,           1,
                           0,           0,  //
                           std::cos(1), std::cos(0.1),
                           std::sin(1), std::sin(0.1),  //
                           std::cos(2), std::cos(0.2),
                           std::sin(2), std::sin(0.2)};
  assert_close(table, expected, 1e-7);
}

// tests/data/golden/make_rope_golden.py: transformers' angles of stretched positions.
void StretchedAnglesAreTransformers(void**) {
  const char* source = std::getenv("TRAIND_SOURCE");
  std::ifstream file(std::string(source != nullptr ? source : ".") + "/tests/data/golden/rope_golden.txt");
  int64_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::istringstream words(line);
    std::string kind, colon;
    int64_t head_size = 0;
    ops::RopeFrequencies frequencies;
    words >> kind >> head_size >> frequencies.theta >> frequencies.factor >> frequencies.low >>
        frequencies.high >> frequencies.original >> colon;
    frequencies.stretch = kind == "linear" ? ops::RopeStretch::kLinear : ops::RopeStretch::kLlama3;
    Tensor table(ops::RopeTableElements(2, head_size));
    assert_ok(ops::RopeTable(2, head_size, frequencies, table.data()));
    const float* at_one = table.data() + head_size;
    for (int64_t i = 0; i < head_size / 2; ++i) {
      double expected = 0;
      words >> expected;
      const double angle =
          std::atan2(static_cast<double>(at_one[head_size / 2 + i]), static_cast<double>(at_one[i]));
      if (std::abs(angle / expected - 1) > 2e-7) fail_msg("%s: angle %ld is %.9g", line.c_str(), i, angle);
    }
  }
  assert_int_equal(lines, 5);
}

void RefusesOddHeads(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, true);
  Tensor table(Values(100, 0.0)), qkv(Values(100, 3.0));
  assert_code(ops::RopeTable(3, 5, {.theta = 100}, table.data()), ErrorCode::INTERNAL);
  assert_code(ops::RopeForward(*run.context, {1, 2, 1, 1, 5}, table.data(), qkv.data()), ErrorCode::INTERNAL);
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::BothWays),
      cmocka_unit_test(traind::TableIsCosinesThenSines),
      cmocka_unit_test(traind::StretchedAnglesAreTransformers),
      cmocka_unit_test(traind::RefusesOddHeads),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
