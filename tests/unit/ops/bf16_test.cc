// Every operator in bf16, against the reference on the same rounded inputs; where the processor multiplies
// bf16 natively and where it does not.
#include "engine/tensor/bfloat16.h"

#include <cmath>
#include <limits>

#include "engine/device/cpu/cpu_device.h"
#include "engine/ops/adamw.h"
#include "engine/ops/attention.h"
#include "engine/ops/bias.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/embedding.h"
#include "engine/ops/gelu.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/linear.h"
#include "engine/ops/position.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/rope.h"
#include "engine/ops/swiglu.h"
#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

// Half a unit in the last of 8 bits is 0.39 %; operators that round what they read again add to it.
constexpr double kOnce = 4e-3, kTwice = 1.2e-2;
// Sums of gradients are fp32.
constexpr double kSums = 2e-5;

// A tensor in bf16 with guards behind it.
class Halves {
 public:
  explicit Halves(const Values& values) : Halves(static_cast<int64_t>(values.size())) {
    for (size_t i = 0; i < values.size(); ++i) storage_[i] = ToBfloat16(static_cast<float>(values[i]));
  }
  explicit Halves(int64_t elements) : storage_(elements + kGuards, kGuard), elements_(elements) {}

  Bfloat16* data() { return storage_.data(); }
  // What it holds, as a tensor that assert_close takes; the guards must be intact.
  Tensor tensor() const { return Tensor(values()); }
  Values values() const {
    for (int64_t i = elements_; i < elements_ + kGuards; ++i) assert_true(storage_[i] == kGuard);
    Values values(elements_);
    for (int64_t i = 0; i < elements_; ++i) values[i] = static_cast<double>(ToFloat(storage_[i]));
    return values;
  }

 private:
  static constexpr int64_t kGuards = 64;
  static constexpr Bfloat16 kGuard = {0x7fde};  // not a number

  std::vector<Bfloat16> storage_;
  int64_t elements_;
};

Values Ones(int64_t count) {
  return Values(count, 1.0);
}

Tensor Zeros(int64_t count) {
  return Tensor(Values(count, 0.0));
}

void RoundsToTheNearest(void**) {
  assert_int_equal(ToBfloat16(1.0F).bits, 0x3f80);
  assert_int_equal(ToBfloat16(1.00390625F).bits, 0x3f80);  // half way, to even
  assert_int_equal(ToBfloat16(1.01171875F).bits, 0x3f82);  // half way, to even
  assert_int_equal(ToBfloat16(1.00390637F).bits, 0x3f81);  // just above half way
  assert_int_equal(ToBfloat16(3.4e38F).bits, 0x7f80);      // beyond the largest
  assert_int_equal(ToBfloat16(-HUGE_VALF).bits, 0xff80);
  assert_true(std::isnan(ToFloat(ToBfloat16(std::nanf("")))));
  ForEachVariant([](OpRun& run) {
    Values values = RandomValues(999, 1, 1e3);
    values.insert(values.end(), {1.00390625, 1.01171875, 3.4e38, -3.4e38, 0, -0.0, 1e-40,
                                 std::numeric_limits<double>::infinity(), std::nan("")});
    const Tensor x(values);
    Halves y(x.elements());
    assert_ok(ops::Round(*run.context, x.elements(), x.data(), y.data()));
    for (int64_t i = 0; i < x.elements(); ++i) {
      const Bfloat16 expected = ToBfloat16(x.data()[i]);
      if (std::fpclassify(x.data()[i]) == FP_SUBNORMAL) continue;  // may be flushed
      assert_int_equal(y.data()[i].bits, expected.bits);
    }
  });
}

void Elementwise(void**) {
  for (const int64_t count : {1, 15, 16, 33, 5000}) {
    ForEachVariant([&](OpRun& run) {
      Halves a(RandomValues(count, 1)), b(RandomValues(count, 2)), y(count);
      Values expected = a.values();
      for (int64_t i = 0; i < count; ++i) expected[i] += b.values()[i];
      assert_ok(ops::Add(*run.context, count, a.data(), b.data(), y.data()));
      assert_close(y.tensor(), expected, kOnce);
      assert_ok(ops::Fill(*run.context, count, 0.0F, y.data()));
      assert_close(y.tensor(), Values(count, 0.0), 0);
    });
  }
}

void Tables(void**) {
  ForEachVariant([](OpRun& run) {
    const ops::EmbeddingShape shape = {13, 11, 21};
    const auto tokens = RandomTokens(13, 11, 1);
    Halves weight(RandomValues(11 * 21, 2)), dy(RandomValues(13 * 21, 3)), y(13 * 21);
    Tensor dweight = Zeros(11 * 21);
    assert_ok(ops::EmbeddingForward(*run.context, shape, tokens.data(), weight.data(), y.data()));
    assert_close(y.tensor(), reference::EmbeddingForward(shape, tokens, weight.values()), 0);
    assert_ok(ops::EmbeddingBackwardWeight(*run.context, shape, tokens.data(), dy.data(), dweight.data()));
    assert_close(dweight, reference::EmbeddingBackwardWeight(shape, tokens, dy.values()), kSums);
    const ops::PositionShape positions = {2, 5, 9, 21, 2};
    Halves table(RandomValues(9 * 21, 4)), x(RandomValues(10 * 21, 5));
    const Values moved = reference::PositionForward(positions, table.values(), x.values());
    const Values gradient = reference::PositionBackwardWeight(positions, x.values());
    Tensor dtable = Zeros(9 * 21);
    assert_ok(ops::PositionBackwardWeight(*run.context, positions, x.data(), dtable.data()));
    assert_close(dtable, gradient, kSums);
    assert_ok(ops::PositionForward(*run.context, positions, table.data(), x.data()));
    assert_close(x.tensor(), moved, kOnce);
  });
}

void RmsNorm(void**) {
  for (const int64_t channels : {1, 31, 64, 200}) {
    const ops::RmsNormShape shape = {7, channels, 1e-5F};
    const int64_t count = 7 * channels;
    ForEachVariant([&](OpRun& run) {
      Halves x(RandomValues(count, 1)), weight(RandomValues(channels, 2)), dy(RandomValues(count, 3));
      Halves dx(Values(count, 0.0)), y(count), zero(Values(count, 0.0)), sum(count);
      Tensor rstd(7), dweight = Zeros(channels);
      const auto expected = reference::RmsNormForward(shape, x.values(), weight.values());
      assert_ok(ops::ResidualRmsNormForward(*run.context, shape, x.data(), zero.data(), weight.data(),
                                            sum.data(), y.data(), rstd.data()));
      assert_close(sum.tensor(), x.values(), 0);
      assert_ok(ops::RmsNormForward(*run.context, shape, x.data(), weight.data(), y.data(), rstd.data()));
      assert_close(y.tensor(), expected.y_RC, kOnce);
      assert_close(rstd, expected.rstd_R, kSums);
      assert_ok(ops::RmsNormBackwardInput(*run.context, shape, x.data(), weight.data(), rstd.data(),
                                          dy.data(), dx.data()));
      assert_close(dx.tensor(),
                   reference::RmsNormBackwardInput(shape, x.values(), weight.values(), dy.values()), kOnce);
      assert_ok(
          ops::RmsNormBackwardWeight(*run.context, shape, x.data(), rstd.data(), dy.data(), dweight.data()));
      assert_close(dweight, reference::RmsNormBackwardWeight(shape, x.values(), dy.values()), kSums);
    });
  }
}

void LayerNorm(void**) {
  for (const int64_t channels : {2, 31, 64, 200}) {
    const ops::LayerNormShape shape = {7, channels, 1e-5F};
    const int64_t count = 7 * channels;
    ForEachVariant([&](OpRun& run) {
      Halves x(RandomValues(count, 1)), weight(RandomValues(channels, 2)), bias(RandomValues(channels, 3));
      Halves dy(RandomValues(count, 4)), dx(Values(count, 0.0)), y(count);
      Tensor statistic(14), dweight = Zeros(channels), dbias = Zeros(channels);
      assert_ok(ops::LayerNormForward(*run.context, shape, x.data(), weight.data(), bias.data(), y.data(),
                                      statistic.data()));
      assert_close(y.tensor(),
                   reference::LayerNormForward(shape, x.values(), weight.values(), bias.values()).y_RC,
                   kOnce);
      assert_ok(ops::LayerNormBackwardInput(*run.context, shape, x.data(), weight.data(), statistic.data(),
                                            dy.data(), dx.data()));
      assert_close(dx.tensor(),
                   reference::LayerNormBackwardInput(shape, x.values(), weight.values(), dy.values()), kOnce);
      assert_ok(ops::LayerNormBackwardWeight(*run.context, shape, x.data(), statistic.data(), dy.data(),
                                             dweight.data(), dbias.data()));
      const auto gradients = reference::LayerNormBackwardWeight(shape, x.values(), dy.values());
      assert_close(dweight, gradients.weight_C, kSums);
      assert_close(dbias, gradients.bias_C, kSums);
    });
  }
}

// Odd extents too, for which oneDNN may have no kernel, and both orders of the weight.
void Linear(void**) {
  const ops::LinearShape shapes[] = {{1, 1, 1}, {7, 20, 9}, {65, 130, 33}, {128, 96, 256}, {3, 5000, 40}};
  for (ops::LinearShape shape : shapes) {
    for (const auto order : {ops::WeightOrder::kOutputInput, ops::WeightOrder::kInputOutput}) {
      shape.order = order;
      const double scale = 1 / std::sqrt(static_cast<double>(shape.inputs));
      ForEachVariant([&](OpRun& run) {
        Halves x(RandomValues(shape.rows * shape.inputs, 1)), y(shape.rows * shape.outputs);
        Halves weight(RandomValues(shape.inputs * shape.outputs, 2, scale));
        Halves dy(RandomValues(shape.rows * shape.outputs, 3)), dx(shape.rows * shape.inputs);
        Tensor dweight(Ones(shape.inputs * shape.outputs));
        assert_ok(ops::LinearForward(*run.context, shape, x.data(), weight.data(), nullptr, y.data(),
                                     run.workspace));
        const Values products = reference::LinearForward(shape, x.values(), weight.values());
        assert_close(y.tensor(), products, kOnce);
        Halves bias(RandomValues(shape.outputs, 4));
        assert_ok(ops::LinearForward(*run.context, shape, x.data(), weight.data(), bias.data(), y.data(),
                                     run.workspace));
        assert_close(y.tensor(), reference::BiasForward({shape.rows, shape.outputs}, bias.values(), products),
                     kOnce);
        assert_ok(ops::LinearBackwardInput(*run.context, shape, dy.data(), weight.data(), dx.data(),
                                           ops::Accumulate::kNo, run.workspace));
        assert_close(dx.tensor(), reference::LinearBackwardInput(shape, dy.values(), weight.values()), kOnce);
        assert_ok(ops::LinearBackwardWeight(*run.context, shape, dy.data(), x.data(), dweight.data(),
                                            ops::Accumulate::kYes, run.workspace));
        Values expected = reference::LinearBackwardWeight(shape, dy.values(), x.values());
        for (double& value : expected) value += 1;
        assert_close(dweight, expected, kSums);
      });
    }
  }
}

// So many outputs that their gradient is turned part by part, over more rows than one part holds.
void LongHead(void**) {
  const ops::LinearShape shape = {1030, 2, 8200};
  const Values dy = Halves(RandomValues(shape.rows * shape.outputs, 1)).values();
  const Values x = Halves(RandomValues(shape.rows * shape.inputs, 2)).values();
  Values expected = reference::LinearBackwardWeight(shape, dy, x);
  for (double& value : expected) value += 1;
  for (const int threads : {1, 2}) {
    OpRun run = OpenOpRun(WidestInstructionSet(), threads, true);
    Halves rounded_dy(dy), rounded_x(x);
    Tensor dweight(Ones(shape.inputs * shape.outputs));
    Tensor storage(LinearWorkspaceBytes(threads) / 4);
    const Workspace exactly = {reinterpret_cast<std::byte*>(storage.data()), LinearWorkspaceBytes(threads)};
    assert_ok(ops::LinearBackwardWeight(*run.context, shape, rounded_dy.data(), rounded_x.data(),
                                        dweight.data(), ops::Accumulate::kYes, exactly));
    assert_close(dweight, expected, kSums);
    assert_true(storage.guards_intact());
  }
}

void Bias(void**) {
  const ops::BiasShape shape = {70, 300};
  ForEachVariant([&](OpRun& run) {
    Halves y(RandomValues(70 * 300, 2));
    Tensor dbias = Zeros(300);
    const Values gradient = reference::BiasBackwardWeight(shape, y.values());
    assert_ok(ops::BiasBackwardWeight(*run.context, shape, y.data(), dbias.data()));
    assert_close(dbias, gradient, kSums);
  });
}

void Activations(void**) {
  const ops::SwigluShape shape = {6, 19};
  ForEachVariant([&](OpRun& run) {
    Halves x(RandomValues(6 * 38, 1, 2)), dy(RandomValues(6 * 38, 2)), y(6 * 38), dx(6 * 38);
    assert_ok(ops::GeluForward(*run.context, 6 * 38, x.data(), y.data()));
    assert_close(y.tensor(), reference::GeluForward(x.values()), kOnce);
    assert_ok(ops::GeluBackwardInput(*run.context, 6 * 38, x.data(), dy.data(), dx.data()));
    assert_close(dx.tensor(), reference::GeluBackwardInput(x.values(), dy.values()), kOnce);
    Halves half(RandomValues(6 * 19, 3)), out(6 * 19);
    assert_ok(ops::SwigluForward(*run.context, shape, x.data(), out.data()));
    assert_close(out.tensor(), reference::SwigluForward(shape, x.values()), kOnce);
    assert_ok(ops::SwigluBackwardInput(*run.context, shape, x.data(), half.data(), dx.data()));
    assert_close(dx.tensor(), reference::SwigluBackwardInput(shape, x.values(), half.values()), kOnce);
  });
}

void RopeAndAttention(void**) {
  const ops::AttentionShape shapes[] = {
      {1, 1, 1, 1, 2}, {2, 37, 4, 2, 8}, {1, 130, 3, 1, 64}, {1, 70, 2, 2, 18}};
  for (const ops::AttentionShape& s : shapes) {
    const ops::RopeShape rope = {s.batch, s.sequence, s.heads, s.kv_heads, s.head_size};
    const int64_t rows = s.batch * s.sequence, wide = rows * (s.heads + 2 * s.kv_heads) * s.head_size;
    const int64_t narrow = rows * s.heads * s.head_size;
    ForEachVariant([&](OpRun& run) {
      Halves qkv(RandomValues(wide, 1)), dout(RandomValues(narrow, 2)), out(narrow), dqkv(wide);
      Tensor lse(rows * s.heads), table(ops::RopeTableElements(s.sequence, s.head_size));
      const auto expected = reference::AttentionForward(s, qkv.values());
      assert_ok(ops::AttentionForward(*run.context, s, qkv.data(), out.data(), lse.data(), run.workspace));
      assert_close(out.tensor(), expected.out_RHD, kOnce);
      assert_close(lse, expected.lse_BHT, kSums);
      assert_ok(ops::AttentionBackwardInput(*run.context, s, qkv.data(), out.data(), lse.data(), dout.data(),
                                            dqkv.data(), run.workspace));
      // delta is made of the rounded out.
      assert_close(dqkv.tensor(), reference::AttentionBackwardInput(s, qkv.values(), dout.values()), kTwice);
      assert_ok(ops::RopeTable(s.sequence, s.head_size, {}, table.data()));
      const Values turned = reference::Rope(rope, 10000, 1, qkv.values());
      assert_ok(ops::RopeForward(*run.context, rope, table.data(), qkv.data()));
      assert_close(qkv.tensor(), turned, kOnce);
    });
  }
}

void CrossEntropy(void**) {
  for (const int64_t vocab : {1, 43, 700}) {
    const ops::CrossEntropyShape shape = {9, vocab};
    const auto targets = RandomTokens(9, vocab, 1);
    ForEachVariant([&](OpRun& run) {
      Halves logits(RandomValues(9 * vocab, 2, 3));
      const double expected = reference::CrossEntropyForward(shape, targets, logits.values());
      const Values gradient = reference::CrossEntropyBackwardInput(shape, targets, logits.values(), 1.0 / 9);
      double loss = 0, again = 0;
      assert_ok(
          ops::CrossEntropyForward(*run.context, shape, targets.data(), logits.data(), &loss, run.workspace));
      assert_ok(ops::CrossEntropyForwardBackward(*run.context, shape, targets.data(), 1.0F / 9, logits.data(),
                                                 &again, run.workspace));
      assert_true(loss == again);
      assert_true(std::fabs(loss - expected) <= 1e-5 * (1 + std::fabs(expected)));
      assert_close(logits.tensor(), gradient, kOnce);
    });
  }
}

// The master weights are those of fp32, bit for bit; the copy is them, rounded.
void AdamwKeepsMasterWeights(void**) {
  for (const int64_t size : {1, 16, 1000, 5000}) {
    ForEachVariant([&](OpRun& run) {
      const Values initial = RandomValues(size, 1);
      Tensor plain(initial), m(Values(size, 0.0)), v(Values(size, 0.0));
      Tensor master(initial), m2(Values(size, 0.0)), v2(Values(size, 0.0));
      Halves rounded(size);
      for (int64_t step = 1; step <= 3; ++step) {
        const ops::AdamwSettings settings = {.learning_rate = 3e-3, .weight_decay = 0.1, .step = step};
        const Tensor gradient(RandomValues(size, static_cast<uint64_t>(step) + 5));
        assert_ok(
            ops::Adamw(*run.context, settings, size, gradient.data(), plain.data(), m.data(), v.data()));
        assert_ok(ops::Adamw(*run.context, settings, size, gradient.data(), master.data(), m2.data(),
                             v2.data(), rounded.data()));
      }
      assert_true(plain == master && m == m2 && v == v2);
      assert_close(rounded.tensor(), Halves(master.values()).values(), 0);
    });
  }
}

void NotANumberShows(void**) {
  ForEachVariant([](OpRun& run) {
    Values values = RandomValues(9 * 43, 1);
    values[100] = std::nan("");
    Halves logits(values);
    const auto targets = RandomTokens(9, 43, 1);
    double loss = 0;
    assert_ok(ops::CrossEntropyForwardBackward(*run.context, {9, 43}, targets.data(), 1, logits.data(), &loss,
                                               run.workspace));
    assert_true(std::isnan(loss));
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::RoundsToTheNearest),
      cmocka_unit_test(traind::Elementwise),
      cmocka_unit_test(traind::Tables),
      cmocka_unit_test(traind::RmsNorm),
      cmocka_unit_test(traind::LayerNorm),
      cmocka_unit_test(traind::Linear),
      cmocka_unit_test(traind::LongHead),
      cmocka_unit_test(traind::Bias),
      cmocka_unit_test(traind::Activations),
      cmocka_unit_test(traind::RopeAndAttention),
      cmocka_unit_test(traind::CrossEntropy),
      cmocka_unit_test(traind::AdamwKeepsMasterWeights),
      cmocka_unit_test(traind::NotANumberShows),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
