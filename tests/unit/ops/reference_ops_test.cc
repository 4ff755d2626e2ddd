// The reference operators' gradients against central differences in fp64.
#include "tests/support/reference_ops.h"

#include "tests/support/test.h"
#include "tests/support/values.h"

namespace traind {
namespace {

using reference::Values;
using testing::Dot;
using testing::GradientDifference;
using testing::RandomTokens;
using testing::RandomValues;

void EmbeddingGradient(void**) {
  const ops::EmbeddingShape shape = {7, 5, 3};
  const auto tokens = RandomTokens(7, 5, 1);
  const Values weight = RandomValues(15, 2), dy = RandomValues(21, 3);
  auto loss = [&](const Values& w) { return Dot(reference::EmbeddingForward(shape, tokens, w), dy); };
  assert_text(GradientDifference(loss, weight, reference::EmbeddingBackwardWeight(shape, tokens, dy)), "");
}

void RmsNormGradients(void**) {
  const ops::RmsNormShape shape = {4, 9, 1e-2F};
  const Values x = RandomValues(36, 1), weight = RandomValues(9, 2), dy = RandomValues(36, 3);
  auto by_x = [&](const Values& v) { return Dot(reference::RmsNormForward(shape, v, weight).y_RC, dy); };
  assert_text(GradientDifference(by_x, x, reference::RmsNormBackwardInput(shape, x, weight, dy)), "");
  auto by_weight = [&](const Values& v) { return Dot(reference::RmsNormForward(shape, x, v).y_RC, dy); };
  assert_text(GradientDifference(by_weight, weight, reference::RmsNormBackwardWeight(shape, x, dy)), "");
}

void LayerNormGradients(void**) {
  const ops::LayerNormShape shape = {4, 9, 1e-2F};
  const Values x = RandomValues(36, 1), weight = RandomValues(9, 2), bias = RandomValues(9, 4);
  const Values dy = RandomValues(36, 3);
  auto loss = [&](const Values& in, const Values& w, const Values& b) {
    return Dot(reference::LayerNormForward(shape, in, w, b).y_RC, dy);
  };
  const auto gradients = reference::LayerNormBackwardWeight(shape, x, dy);
  assert_text(GradientDifference([&](const Values& v) { return loss(v, weight, bias); }, x,
                                 reference::LayerNormBackwardInput(shape, x, weight, dy)),
              "");
  assert_text(
      GradientDifference([&](const Values& v) { return loss(x, v, bias); }, weight, gradients.weight_C), "");
  assert_text(GradientDifference([&](const Values& v) { return loss(x, weight, v); }, bias, gradients.bias_C),
              "");
}

void PositionGradient(void**) {
  const ops::PositionShape shape = {3, 4, 7, 5, 2};
  const Values weight = RandomValues(35, 1), x = RandomValues(60, 2), dy = RandomValues(60, 3);
  auto loss = [&](const Values& v) { return Dot(reference::PositionForward(shape, v, x), dy); };
  assert_text(GradientDifference(loss, weight, reference::PositionBackwardWeight(shape, dy)), "");
}

void BiasGradient(void**) {
  const ops::BiasShape shape = {6, 5};
  const Values bias = RandomValues(5, 1), y = RandomValues(30, 2), dy = RandomValues(30, 3);
  auto loss = [&](const Values& v) { return Dot(reference::BiasForward(shape, v, y), dy); };
  assert_text(GradientDifference(loss, bias, reference::BiasBackwardWeight(shape, dy)), "");
}

void GeluGradient(void**) {
  const Values x = RandomValues(50, 1, 2), dy = RandomValues(50, 2);
  auto loss = [&](const Values& v) { return Dot(reference::GeluForward(v), dy); };
  assert_text(GradientDifference(loss, x, reference::GeluBackwardInput(x, dy)), "");
}

void LinearGradientsOf(const ops::LinearShape& shape) {
  const Values x = RandomValues(15, 1), weight = RandomValues(20, 2), dy = RandomValues(12, 3);
  auto by_x = [&](const Values& v) { return Dot(reference::LinearForward(shape, v, weight), dy); };
  assert_text(GradientDifference(by_x, x, reference::LinearBackwardInput(shape, dy, weight)), "");
  auto by_weight = [&](const Values& v) { return Dot(reference::LinearForward(shape, x, v), dy); };
  assert_text(GradientDifference(by_weight, weight, reference::LinearBackwardWeight(shape, dy, x)), "");
}

void LinearGradients(void**) {
  LinearGradientsOf({3, 5, 4});
  LinearGradientsOf({3, 5, 4, ops::WeightOrder::kInputOutput});
}

void RopeGradient(void**) {
  const ops::RopeShape shape = {2, 5, 2, 1, 6};
  const int64_t elements = 2 * 5 * 4 * 6;
  const Values qkv = RandomValues(elements, 1), dy = RandomValues(elements, 2);
  auto loss = [&](const Values& v) { return Dot(reference::Rope(shape, 100, 1, v), dy); };
  assert_text(GradientDifference(loss, qkv, reference::Rope(shape, 100, -1, dy)), "");
}

void AttentionGradient(void**) {
  const ops::AttentionShape shape = {2, 6, 4, 2, 4};
  const Values qkv = RandomValues(2 * 6 * 8 * 4, 1), dout = RandomValues(2 * 6 * 4 * 4, 2);
  auto loss = [&](const Values& v) { return Dot(reference::AttentionForward(shape, v).out_RHD, dout); };
  assert_text(GradientDifference(loss, qkv, reference::AttentionBackwardInput(shape, qkv, dout)), "");
}

void SwigluGradient(void**) {
  const ops::SwigluShape shape = {3, 7};
  const Values gate_up = RandomValues(42, 1, 2), dy = RandomValues(21, 2);
  auto loss = [&](const Values& v) { return Dot(reference::SwigluForward(shape, v), dy); };
  assert_text(GradientDifference(loss, gate_up, reference::SwigluBackwardInput(shape, gate_up, dy)), "");
}

void CrossEntropyGradient(void**) {
  const ops::CrossEntropyShape shape = {4, 11};
  const auto targets = RandomTokens(4, 11, 1);
  const Values logits = RandomValues(44, 2, 3);
  auto loss = [&](const Values& v) { return reference::CrossEntropyForward(shape, targets, v) * 0.25; };
  assert_text(
      GradientDifference(loss, logits, reference::CrossEntropyBackwardInput(shape, targets, logits, 0.25)),
      "");
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::EmbeddingGradient),    cmocka_unit_test(traind::RmsNormGradients),
      cmocka_unit_test(traind::LinearGradients),      cmocka_unit_test(traind::RopeGradient),
      cmocka_unit_test(traind::AttentionGradient),    cmocka_unit_test(traind::SwigluGradient),
      cmocka_unit_test(traind::CrossEntropyGradient), cmocka_unit_test(traind::LayerNormGradients),
      cmocka_unit_test(traind::PositionGradient),     cmocka_unit_test(traind::BiasGradient),
      cmocka_unit_test(traind::GeluGradient),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
