// AdamW against the reference.
#include "engine/ops/adamw.h"

#include <cmath>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr int64_t kSizes[] = {1, 15, 16, 17, 100, 1000, 4097};

ops::AdamwSettings Settings(int64_t step, double decay) {
  return {.learning_rate = 3e-3, .weight_decay = decay, .gradient_scale = 0.37, .step = step};
}

void SeveralSteps(void**) {
  ForEachVariant([](OpRun& run) {
    for (int64_t size : kSizes) {
      for (double decay : {0.0, 0.1}) {
        Tensor weight(RandomValues(size, 1)), m(Values(size, 0.0)), v(Values(size, 0.0));
        reference::AdamwState expected = {weight.values(), m.values(), v.values()};
        for (int64_t step = 1; step <= 5; ++step) {
          const Values gradient = RandomValues(size, 10 + static_cast<uint64_t>(step), 0.1);
          assert_ok(ops::Adamw(*run.context, Settings(step, decay), size, Tensor(gradient).data(),
                               weight.data(), m.data(), v.data()));
          expected = reference::Adamw(Settings(step, decay), gradient, std::move(expected));
        }
        assert_close(weight, expected.weight, 5e-7);
        assert_close(m, expected.m, 1e-6);
        assert_close(v, expected.v, 1e-6);
      }
    }
  });
}

// A gradient of zero, as an unused token's row has it, leaves the weight but for decay, and divides nothing
// by zero.
void ZeroGradient(void**) {
  ForEachVariant([](OpRun& run) {
    Tensor weight(Values(20, 2.0)), m(Values(20, 0.0)), v(Values(20, 0.0));
    assert_ok(ops::Adamw(*run.context, Settings(1, 0), 20, Tensor(Values(20, 0.0)).data(), weight.data(),
                         m.data(), v.data()));
    assert_close(weight, Values(20, 2.0), 0);
  });
}

// The first step is learning_rate · sign(gradient), whatever the gradient's size.
void FirstStepIsTheLearningRate(void**) {
  ForEachVariant([](OpRun& run) {
    const Values gradient = {1e-4, -1e-4, 1, -1, 1e4, -1e4};
    Tensor weight(Values(6, 0.0)), m(Values(6, 0.0)), v(Values(6, 0.0));
    assert_ok(ops::Adamw(*run.context, Settings(1, 0), 6, Tensor(gradient).data(), weight.data(), m.data(),
                         v.data()));
    assert_close(weight, (Values{-3e-3, 3e-3, -3e-3, 3e-3, -3e-3, 3e-3}), 2e-4);
  });
}

void RefusesStepZero(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, true);
  Tensor x(Values(1, 1.0)), m(Values(1, 0.0)), v(Values(1, 0.0)), g(Values(1, 0.0));
  assert_code(ops::Adamw(*run.context, Settings(0, 0), 1, g.data(), x.data(), m.data(), v.data()),
              ErrorCode::INTERNAL);
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::SeveralSteps),
      cmocka_unit_test(traind::ZeroGradient),
      cmocka_unit_test(traind::FirstStepIsTheLearningRate),
      cmocka_unit_test(traind::RefusesStepZero),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
