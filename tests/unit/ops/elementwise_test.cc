// The elementwise operators against their definitions.
#include "engine/ops/elementwise.h"

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr int64_t kSizes[] = {1, 2, 15, 16, 17, 100, 1000, 4097};

void AddAlsoInPlace(void**) {
  ForEachVariant([](OpRun& run) {
    for (int64_t size : kSizes) {
      const Values a = RandomValues(size, 1), b = RandomValues(size, 2);
      Values expected(size);
      for (int64_t i = 0; i < size; ++i) {
        expected[i] = static_cast<double>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
      }
      Tensor y(size), over_a(a), over_b(b);
      assert_ok(ops::Add(*run.context, size, over_a.data(), over_b.data(), y.data()));
      assert_close(y, expected, 0);
      assert_ok(ops::Add(*run.context, size, over_a.data(), Tensor(b).data(), over_a.data()));
      assert_close(over_a, expected, 0);
      assert_ok(ops::Add(*run.context, size, Tensor(a).data(), over_b.data(), over_b.data()));
      assert_close(over_b, expected, 0);
    }
  });
}

void FillAndScale(void**) {
  ForEachVariant([](OpRun& run) {
    for (int64_t size : kSizes) {
      Tensor x(size);  // not a number
      assert_ok(ops::Fill(*run.context, size, 0.75F, x.data()));
      assert_close(x, Values(size, 0.75), 0);
      assert_ok(ops::Scale(*run.context, size, -2, x.data()));
      assert_close(x, Values(size, -1.5), 0);
    }
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::AddAlsoInPlace),
      cmocka_unit_test(traind::FillAndScale),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
