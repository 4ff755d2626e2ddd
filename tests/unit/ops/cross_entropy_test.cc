// Cross-entropy against the reference.
#include "engine/ops/cross_entropy.h"

#include <cmath>
#include <limits>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::CrossEntropyShape kShapes[] = {{1, 1},    {1, 256},  {3, 17}, {65, 33},
                                              {64, 257}, {7, 5000}, {5, 2}};

void BothKinds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::CrossEntropyShape& shape : kShapes) {
      const auto targets = RandomTokens(shape.rows, shape.vocab, 1);
      const Values logits = RandomValues(shape.rows * shape.vocab, 2, 4);
      const float scale = 1.0F / 512;
      const double expected = reference::CrossEntropyForward(shape, targets, logits);
      const Values gradient = reference::CrossEntropyBackwardInput(shape, targets, logits, scale);
      Tensor kept(logits), changed(logits);
      double forward = 10, both = 20;
      assert_ok(ops::CrossEntropyForward(*run.context, shape, targets.data(), kept.data(), &forward,
                                         run.workspace));
      assert_ok(ops::CrossEntropyForwardBackward(*run.context, shape, targets.data(), scale, changed.data(),
                                                 &both, run.workspace));
      assert_true(kept == Tensor(logits));
      assert_true(std::fabs(forward - 10 - expected) <= 1e-6 * (1 + expected));
      assert_true(std::fabs(both - 20 - expected) <= 1e-6 * (1 + expected));
      assert_close(changed, gradient, 1e-6);
    }
  });
}

// Logits of ±1e4 neither overflow nor lose the loss.
void LargeLogits(void**) {
  ForEachVariant([](OpRun& run) {
    const Values logits = {1e4, -1e4, 0, 1e4, -1e4, 0};
    const int32_t targets[] = {0, 1};
    Tensor z(logits);
    double loss = 0;
    assert_ok(
        ops::CrossEntropyForwardBackward(*run.context, {2, 3}, targets, 1, z.data(), &loss, run.workspace));
    assert_true(std::fabs(loss - 2e4) < 1e-6);
    assert_close(z, (Values{0, 0, 0, 1, -1, 0}), 1e-6);
  });
}

void NotANumberShowsInTheLoss(void**) {
  ForEachVariant([](OpRun& run) {
    for (int64_t at : {0, 5, 39}) {
      for (double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Values logits = RandomValues(40, 1);
        logits[at] = bad;
        const int32_t target = 7;
        double loss = 0;
        Tensor z(logits);
        assert_ok(ops::CrossEntropyForward(*run.context, {1, 40}, &target, z.data(), &loss, run.workspace));
        assert_true(!std::isfinite(loss));
      }
    }
  });
}

void RefusesTargetsBeyondTheVocabulary(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, true);
  Tensor z(Values(6, 1.0));
  double loss = 3;
  for (int32_t bad : {-1, 3}) {
    const int32_t targets[] = {0, bad};
    assert_code(
        ops::CrossEntropyForwardBackward(*run.context, {2, 3}, targets, 1, z.data(), &loss, run.workspace),
        ErrorCode::TOKEN_OUT_OF_RANGE);
  }
  assert_true(z == Tensor(Values(6, 1.0)) && loss == 3);
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::BothKinds),
      cmocka_unit_test(traind::LargeLogits),
      cmocka_unit_test(traind::NotANumberShowsInTheLoss),
      cmocka_unit_test(traind::RefusesTargetsBeyondTheVocabulary),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
