// Every operator against what PyTorch computed in fp64 (tests/data/golden/make_op_golden.py).
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "engine/ops/adamw.h"
#include "engine/ops/attention.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/embedding.h"
#include "engine/ops/linear.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/rope.h"
#include "engine/ops/square_norm.h"
#include "engine/ops/swiglu.h"
#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr double kTolerance = 2e-6;

// Name → values; loaded once.
const Values& Golden(const std::string& name) {
  static const std::map<std::string, Values> tensors = [] {
    std::map<std::string, Values> read;
    const char* source = std::getenv("TRAIND_SOURCE");
    std::ifstream file(std::string(source != nullptr ? source : ".") + "/tests/data/golden/op_golden.txt");
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.find(" : ");
      std::istringstream values(line.substr(colon + 3));
      Values& tensor = read[line.substr(0, line.find(' '))];
      for (double value = 0; values >> value;) tensor.push_back(value);
    }
    return read;
  }();
  const auto found = tensors.find(name);
  if (found == tensors.end()) fail_msg("op_golden.txt has no %s; is TRAIND_SOURCE right?", name.c_str());
  return found->second;
}

std::vector<int32_t> GoldenTokens(const std::string& name) {
  const Values& values = Golden(name);
  return {values.begin(), values.end()};
}

Tensor Zeros(int64_t elements) {
  return Tensor(Values(elements, 0.0));
}

void Embedding(void**) {
  ForEachVariant([](OpRun& run) {
    const ops::EmbeddingShape shape = {13, 11, 6};
    const auto tokens = GoldenTokens("embedding.token");
    Tensor weight(Golden("embedding.weight")), dy(Golden("embedding.dy")), y(13 * 6), dweight = Zeros(11 * 6);
    assert_ok(ops::EmbeddingForward(*run.context, shape, tokens.data(), weight.data(), y.data()));
    assert_ok(ops::EmbeddingBackwardWeight(*run.context, shape, tokens.data(), dy.data(), dweight.data()));
    assert_close(y, Golden("embedding.y"), kTolerance);
    assert_close(dweight, Golden("embedding.dweight"), kTolerance);
  });
}

void RmsNorm(void**) {
  ForEachVariant([](OpRun& run) {
    const ops::RmsNormShape shape = {5, 24, 1e-5F};
    Tensor x(Golden("rms_norm.x")), weight(Golden("rms_norm.weight")), dy(Golden("rms_norm.dy"));
    Tensor y(5 * 24), rstd(5), dx = Zeros(5 * 24), dweight = Zeros(24);
    assert_ok(ops::RmsNormForward(*run.context, shape, x.data(), weight.data(), y.data(), rstd.data()));
    assert_ok(ops::RmsNormBackwardInput(*run.context, shape, x.data(), weight.data(), rstd.data(), dy.data(),
                                        dx.data()));
    assert_ok(
        ops::RmsNormBackwardWeight(*run.context, shape, x.data(), rstd.data(), dy.data(), dweight.data()));
    assert_close(y, Golden("rms_norm.y"), kTolerance);
    assert_close(dx, Golden("rms_norm.dx"), kTolerance);
    assert_close(dweight, Golden("rms_norm.dweight"), kTolerance);
  });
}

void Linear(void**) {
  ForEachVariant([](OpRun& run) {
    const ops::LinearShape shape = {7, 20, 9};
    Tensor x(Golden("linear.x")), weight(Golden("linear.weight")), dy(Golden("linear.dy"));
    Tensor y(7 * 9), dx(7 * 20), dweight = Zeros(9 * 20);
    assert_ok(
        ops::LinearForward(*run.context, shape, x.data(), weight.data(), nullptr, y.data(), run.workspace));
    assert_ok(ops::LinearBackwardInput(*run.context, shape, dy.data(), weight.data(), dx.data(),
                                       ops::Accumulate::kNo, run.workspace));
    assert_ok(ops::LinearBackwardWeight(*run.context, shape, dy.data(), x.data(), dweight.data(),
                                        ops::Accumulate::kYes, run.workspace));
    assert_close(y, Golden("linear.y"), kTolerance);
    assert_close(dx, Golden("linear.dx"), kTolerance);
    assert_close(dweight, Golden("linear.dweight"), kTolerance);
  });
}

void RopeAndAttention(void**) {
  ForEachVariant([](OpRun& run) {
    const ops::RopeShape rope = {2, 37, 4, 2, 8};
    const ops::AttentionShape shape = {2, 37, 4, 2, 8};
    Tensor table(ops::RopeTableElements(37, 8)), qkv(Golden("attention.qkv")), dout(Golden("attention.dout"));
    Tensor out(2 * 37 * 4 * 8), lse(2 * 4 * 37), dqkv(2 * 37 * 8 * 8);
    assert_ok(ops::RopeTable(37, 8, {.theta = 10000}, table.data()));
    assert_ok(ops::RopeForward(*run.context, rope, table.data(), qkv.data()));
    assert_ok(ops::AttentionForward(*run.context, shape, qkv.data(), out.data(), lse.data(), run.workspace));
    assert_ok(ops::AttentionBackwardInput(*run.context, shape, qkv.data(), out.data(), lse.data(),
                                          dout.data(), dqkv.data(), run.workspace));
    assert_ok(ops::RopeBackwardInput(*run.context, rope, table.data(), dqkv.data()));
    assert_close(lse, Golden("attention.lse"), kTolerance);
    assert_close(out, Golden("attention.out"), kTolerance);
    assert_close(dqkv, Golden("attention.dqkv"), 5e-6);
  });
}

void Swiglu(void**) {
  ForEachVariant([](OpRun& run) {
    const ops::SwigluShape shape = {6, 19};
    Tensor gate_up(Golden("swiglu.gate_up")), dy(Golden("swiglu.dy")), y(6 * 19), dgate_up(6 * 38);
    assert_ok(ops::SwigluForward(*run.context, shape, gate_up.data(), y.data()));
    assert_ok(ops::SwigluBackwardInput(*run.context, shape, gate_up.data(), dy.data(), dgate_up.data()));
    assert_close(y, Golden("swiglu.y"), kTolerance);
    assert_close(dgate_up, Golden("swiglu.dgate_up"), kTolerance);
  });
}

void CrossEntropy(void**) {
  ForEachVariant([](OpRun& run) {
    const auto targets = GoldenTokens("cross_entropy.target");
    Tensor logits(Golden("cross_entropy.logits"));
    double loss = 0;
    assert_ok(ops::CrossEntropyForwardBackward(*run.context, {9, 43}, targets.data(), 1.0F / 9, logits.data(),
                                               &loss, run.workspace));
    assert_true(std::fabs(loss / 9 - Golden("cross_entropy.loss")[0]) <= 1e-6);
    assert_close(logits, Golden("cross_entropy.dlogits"), kTolerance);
  });
}

void AdamwWithClipping(void**) {
  ForEachVariant([](OpRun& run) {
    Tensor weight(Golden("adamw.weight")), m = Zeros(50), v = Zeros(50);
    for (int64_t step = 1; step <= 5; ++step) {
      Tensor gradient(Golden("adamw.gradient" + std::to_string(step)));
      double squares = 0;
      assert_ok(ops::SquareNorm(*run.context, 50, gradient.data(), &squares));
      const double norm = std::sqrt(squares);
      assert_true(std::fabs(norm - Golden("adamw.norm" + std::to_string(step))[0]) <= 1e-6 * norm);
      const ops::AdamwSettings settings = {.learning_rate = 3e-3,
                                           .weight_decay = 0.1,
                                           .gradient_scale = std::fmin(1, 1 / (norm + 1e-6)),
                                           .step = step};
      assert_ok(ops::Adamw(*run.context, settings, 50, gradient.data(), weight.data(), m.data(), v.data()));
    }
    assert_close(weight, Golden("adamw.updated"), 5e-7);
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::Embedding),
      cmocka_unit_test(traind::RmsNorm),
      cmocka_unit_test(traind::Linear),
      cmocka_unit_test(traind::RopeAndAttention),
      cmocka_unit_test(traind::Swiglu),
      cmocka_unit_test(traind::CrossEntropy),
      cmocka_unit_test(traind::AdamwWithClipping),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
