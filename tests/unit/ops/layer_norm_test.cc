// LayerNorm against the reference.
#include "engine/ops/layer_norm.h"

#include <cmath>
#include <limits>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::LayerNormShape kShapes[] = {{1, 1, 1e-5F},    {1, 64, 1e-6F},  {3, 17, 1e-5F},
                                           {64, 64, 1e-5F},  {70, 96, 1e-3F}, {5, 130, 1e-5F},
                                           {257, 33, 1e-5F}, {2, 1000, 1e-5F}};
constexpr double kTolerance = 2e-6;

struct Inputs {
  explicit Inputs(const ops::LayerNormShape& shape)
      : x(RandomValues(shape.rows * shape.channels, 1, 3)),
        weight(RandomValues(shape.channels, 2)),
        bias(RandomValues(shape.channels, 4)),
        dy(RandomValues(shape.rows * shape.channels, 3)) {
    // A row of one channel has no variance: its gradient is a difference of equals.
    if (shape.channels == 1) dy[0] = 0;
  }
  Values x, weight, bias, dy;
};

void Forward(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::LayerNormShape& shape : kShapes) {
      const Inputs in(shape);
      Tensor y(shape.rows * shape.channels), statistic(2 * shape.rows);
      assert_ok(ops::LayerNormForward(*run.context, shape, Tensor(in.x).data(), Tensor(in.weight).data(),
                                      Tensor(in.bias).data(), y.data(), statistic.data()));
      const auto expected = reference::LayerNormForward(shape, in.x, in.weight, in.bias);
      assert_close(y, expected.y_RC, kTolerance);
      assert_close(statistic, expected.statistic_R2, kTolerance);
    }
  });
}

void ResidualForwardAlsoInPlace(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::LayerNormShape& shape : kShapes) {
      const Inputs in(shape);
      Values total(in.x.size());
      for (size_t i = 0; i < total.size(); ++i) {
        total[i] = static_cast<double>(static_cast<float>(in.x[i]) + static_cast<float>(in.dy[i]));
      }
      const auto expected = reference::LayerNormForward(shape, total, in.weight, in.bias);
      for (int place : {0, 1, 2}) {  // sum apart, over the residual, over the branch
        Tensor residual(in.x), branch(in.dy), apart(shape.rows * shape.channels);
        Tensor& sum = place == 0 ? apart : place == 1 ? residual : branch;
        Tensor y(shape.rows * shape.channels), statistic(2 * shape.rows);
        assert_ok(ops::ResidualLayerNormForward(*run.context, shape, residual.data(), branch.data(),
                                                Tensor(in.weight).data(), Tensor(in.bias).data(), sum.data(),
                                                y.data(), statistic.data()));
        assert_close(sum, total, 0);
        assert_close(y, expected.y_RC, kTolerance);
        assert_close(statistic, expected.statistic_R2, kTolerance);
      }
    }
  });
}

void BackwardInputAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::LayerNormShape& shape : kShapes) {
      const Inputs in(shape);
      Tensor dx(in.dy);
      Tensor statistic(reference::LayerNormForward(shape, in.x, in.weight, in.bias).statistic_R2);
      assert_ok(ops::LayerNormBackwardInput(*run.context, shape, Tensor(in.x).data(),
                                            Tensor(in.weight).data(), statistic.data(), Tensor(in.dy).data(),
                                            dx.data()));
      Values expected = reference::LayerNormBackwardInput(shape, in.x, in.weight, in.dy);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += in.dy[i];
      assert_close(dx, expected, kTolerance);
    }
  });
}

void BackwardWeightAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::LayerNormShape& shape : kShapes) {
      const Inputs in(shape);
      Tensor dweight(in.weight), dbias(in.bias);
      Tensor statistic(reference::LayerNormForward(shape, in.x, in.weight, in.bias).statistic_R2);
      assert_ok(ops::LayerNormBackwardWeight(*run.context, shape, Tensor(in.x).data(), statistic.data(),
                                             Tensor(in.dy).data(), dweight.data(), dbias.data()));
      auto expected = reference::LayerNormBackwardWeight(shape, in.x, in.dy);
      for (size_t i = 0; i < expected.weight_C.size(); ++i) {
        expected.weight_C[i] += in.weight[i];
        expected.bias_C[i] += in.bias[i];
      }
      assert_close(dweight, expected.weight_C, kTolerance);
      assert_close(dbias, expected.bias_C, kTolerance);
    }
  });
}

// A mean much larger than the deviation does not swallow it.
void LargeMeans(void**) {
  ForEachVariant([](OpRun& run) {
    Values x = RandomValues(2 * 77, 1);
    for (double& value : x) value = std::round(value * 64) / 64 + 4096;  // exact in fp32
    const ops::LayerNormShape shape = {2, 77, 1e-5F};
    const Values weight(77, 1.0), bias(77, 0.0);
    Tensor y(2 * 77), statistic(4);
    assert_ok(ops::LayerNormForward(*run.context, shape, Tensor(x).data(), Tensor(weight).data(),
                                    Tensor(bias).data(), y.data(), statistic.data()));
    // The mean itself is rounded to 1/4096 of the deviation.
    assert_close(y, reference::LayerNormForward(shape, x, weight, bias).y_RC, 1e-3);
  });
}

void EqualRowsStayFinite(void**) {
  ForEachVariant([](OpRun& run) {
    Tensor x(Values(20, 0.5)), weight(Values(20, 1.0)), bias(Values(20, 0.25)), y(20), statistic(2);
    assert_ok(ops::LayerNormForward(*run.context, {1, 20, 1e-5F}, x.data(), weight.data(), bias.data(),
                                    y.data(), statistic.data()));
    assert_close(y, Values(20, 0.25), 0);
    assert_close(statistic, Values({0.5, 1 / std::sqrt(1e-5)}), 1e-6);
  });
}

void NotANumberShows(void**) {
  ForEachVariant([](OpRun& run) {
    Values values = RandomValues(40, 1);
    values[37] = std::numeric_limits<double>::quiet_NaN();
    Tensor weight(Values(40, 1.0)), bias(Values(40, 1.0)), y(40), statistic(2);
    assert_ok(ops::LayerNormForward(*run.context, {1, 40, 1e-5F}, Tensor(values).data(), weight.data(),
                                    bias.data(), y.data(), statistic.data()));
    assert_true(std::isnan(statistic.data()[1]) && std::isnan(y.data()[0]));
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::Forward),           cmocka_unit_test(traind::ResidualForwardAlsoInPlace),
      cmocka_unit_test(traind::BackwardInputAdds), cmocka_unit_test(traind::BackwardWeightAdds),
      cmocka_unit_test(traind::LargeMeans),        cmocka_unit_test(traind::EqualRowsStayFinite),
      cmocka_unit_test(traind::NotANumberShows),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
