// The model on its arena: initial weights, losses, learning, reuse of memory, prediction.
#include "engine/model/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/support/test.h"
#include "tests/unit/model/model_fixture.h"

namespace traind::model {
namespace {

void InitialLossIsThatOfAGuess(void**) {
  ModelFixture fixture(SmallLlama(), {.micro_batch = 2, .micro_batches = 2});
  fixture.model->Initialize(1);
  const double loss = fixture.Step(1, 0, 0).mean();
  assert_true(std::abs(loss - std::log(256.0)) < 0.1);
}

void LossFalls(void**) {
  ModelFixture fixture(SmallLlama(), {.micro_batch = 2, .micro_batches = 2});
  fixture.model->Initialize(1);
  double first = 0, last = 0;
  for (int64_t step = 1; step <= 60; ++step) {
    last = fixture.Step(step, 3e-3, 0).mean();
    if (step == 1) first = last;
  }
  assert_true(last < first - 2);
}

}  // namespace
}  // namespace traind::model

int main() {
  using namespace traind::model;
  const CMUnitTest tests[] = {
      cmocka_unit_test(InitialLossIsThatOfAGuess),
      cmocka_unit_test(LossFalls),
  };
  return cmocka_run_group_tests_name("model", tests, nullptr, nullptr);
}
