// RMSNorm against the reference.
#include "engine/ops/rms_norm.h"

#include <cmath>
#include <limits>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::RmsNormShape kShapes[] = {{1, 1, 1e-5F},    {1, 64, 1e-6F},  {3, 17, 1e-5F},
                                         {64, 64, 1e-5F},  {70, 96, 1e-3F}, {5, 130, 1e-5F},
                                         {257, 33, 1e-5F}, {2, 1000, 1e-5F}};
constexpr double kTolerance = 2e-6;

struct Inputs {
  explicit Inputs(const ops::RmsNormShape& shape)
      : x(RandomValues(shape.rows * shape.channels, 1, 3)),
        weight(RandomValues(shape.channels, 2)),
        dy(RandomValues(shape.rows * shape.channels, 3)) {}
  Values x, weight, dy;
};

void Forward(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::RmsNormShape& shape : kShapes) {
      const Inputs in(shape);
      Tensor y(shape.rows * shape.channels), rstd(shape.rows);
      assert_ok(ops::RmsNormForward(*run.context, shape, Tensor(in.x).data(), Tensor(in.weight).data(),
                                    y.data(), rstd.data()));
      const auto expected = reference::RmsNormForward(shape, in.x, in.weight);
      assert_close(y, expected.y_RC, kTolerance);
      assert_close(rstd, expected.rstd_R, kTolerance);
    }
  });
}

void ResidualForwardAlsoInPlace(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::RmsNormShape& shape : kShapes) {
      const Inputs in(shape);
      Values total(in.x.size());
      for (size_t i = 0; i < total.size(); ++i) {
        total[i] = static_cast<double>(static_cast<float>(in.x[i]) + static_cast<float>(in.dy[i]));
      }
      const auto expected = reference::RmsNormForward(shape, total, in.weight);
      for (int place : {0, 1, 2}) {  // sum apart, over the residual, over the branch
        Tensor residual(in.x), branch(in.dy), apart(shape.rows * shape.channels);
        Tensor& sum = place == 0 ? apart : place == 1 ? residual : branch;
        Tensor y(shape.rows * shape.channels), rstd(shape.rows);
        assert_ok(ops::ResidualRmsNormForward(*run.context, shape, residual.data(), branch.data(),
                                              Tensor(in.weight).data(), sum.data(), y.data(), rstd.data()));
        assert_close(sum, total, 0);
        assert_close(y, expected.y_RC, kTolerance);
        assert_close(rstd, expected.rstd_R, kTolerance);
      }
    }
  });
}

void BackwardInputAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::RmsNormShape& shape : kShapes) {
      const Inputs in(shape);
      Tensor dx(in.dy);
      Tensor rstd(reference::RmsNormForward(shape, in.x, in.weight).rstd_R);
      assert_ok(ops::RmsNormBackwardInput(*run.context, shape, Tensor(in.x).data(), Tensor(in.weight).data(),
                                          rstd.data(), Tensor(in.dy).data(), dx.data()));
      Values expected = reference::RmsNormBackwardInput(shape, in.x, in.weight, in.dy);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += in.dy[i];
      assert_close(dx, expected, kTolerance);
    }
  });
}

void BackwardWeightAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::RmsNormShape& shape : kShapes) {
      const Inputs in(shape);
      Tensor dweight(in.weight);
      Tensor rstd(reference::RmsNormForward(shape, in.x, in.weight).rstd_R);
      assert_ok(ops::RmsNormBackwardWeight(*run.context, shape, Tensor(in.x).data(), rstd.data(),
                                           Tensor(in.dy).data(), dweight.data()));
      Values expected = reference::RmsNormBackwardWeight(shape, in.x, in.dy);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += in.weight[i];
      assert_close(dweight, expected, kTolerance);
    }
  });
}

void ZeroRowsStayFinite(void**) {
  ForEachVariant([](OpRun& run) {
    Tensor x(Values(20, 0.0)), weight(Values(20, 1.0)), y(20), rstd(1);
    assert_ok(
        ops::RmsNormForward(*run.context, {1, 20, 1e-5F}, x.data(), weight.data(), y.data(), rstd.data()));
    assert_close(y, Values(20, 0.0), 0);
    assert_close(rstd, Values(1, 1 / std::sqrt(1e-5)), 1e-6);
  });
}

void NotANumberShows(void**) {
  ForEachVariant([](OpRun& run) {
    Values values = RandomValues(40, 1);
    values[37] = std::numeric_limits<double>::quiet_NaN();
    Tensor weight(Values(40, 1.0)), y(40), rstd(1);
    assert_ok(ops::RmsNormForward(*run.context, {1, 40, 1e-5F}, Tensor(values).data(), weight.data(),
                                  y.data(), rstd.data()));
    assert_true(std::isnan(rstd.data()[0]) && std::isnan(y.data()[0]));
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::Forward),
      cmocka_unit_test(traind::ResidualForwardAlsoInPlace),
      cmocka_unit_test(traind::BackwardInputAdds),
      cmocka_unit_test(traind::BackwardWeightAdds),
      cmocka_unit_test(traind::ZeroRowsStayFinite),
      cmocka_unit_test(traind::NotANumberShows),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
