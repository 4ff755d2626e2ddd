// Attention against the reference.
#include "engine/ops/attention.h"

#include <cmath>
#include <limits>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::AttentionShape kShapes[] = {
    {1, 1, 1, 1, 2},    {1, 1, 4, 2, 16},   {2, 7, 3, 3, 6},    {1, 16, 2, 1, 16},  {2, 64, 4, 2, 16},
    {1, 65, 6, 2, 32},  {1, 63, 2, 2, 64},  {3, 33, 4, 1, 10},  {1, 129, 2, 1, 64}, {1, 200, 3, 1, 80},
    {1, 97, 2, 2, 128}, {1, 70, 1, 1, 256}, {1, 300, 1, 1, 18}, {1, 130, 2, 1, 254}};
constexpr double kTolerance = 4e-6;
// dp − delta cancels where the softmax is sharp: an error of |dp| · 6e-8 remains beside small gradients.
constexpr double kGradientTolerance = 1.5e-5;

struct Inputs {
  Inputs(const ops::AttentionShape& shape, double deviation)
      : qkv(RandomValues(shape.batch * shape.sequence * (shape.heads + 2 * shape.kv_heads) * shape.head_size,
                         1, deviation)),
        dout(RandomValues(shape.batch * shape.sequence * shape.heads * shape.head_size, 2)) {}
  Values qkv, dout;
};

struct Outputs {
  explicit Outputs(const ops::AttentionShape& shape)
      : out(shape.batch * shape.sequence * shape.heads * shape.head_size),
        lse(shape.batch * shape.heads * shape.sequence),
        dqkv(shape.batch * shape.sequence * (shape.heads + 2 * shape.kv_heads) * shape.head_size) {}
  Tensor out, lse, dqkv;
};

Outputs Run(OpRun& run, const ops::AttentionShape& shape, const Inputs& in) {
  Outputs got(shape);
  const Tensor qkv(in.qkv), dout(in.dout);
  assert_ok(
      ops::AttentionForward(*run.context, shape, qkv.data(), got.out.data(), got.lse.data(), run.workspace));
  assert_ok(ops::AttentionBackwardInput(*run.context, shape, qkv.data(), got.out.data(), got.lse.data(),
                                        dout.data(), got.dqkv.data(), run.workspace));
  return got;
}

void BothPasses(void**) {
  for (const ops::AttentionShape& shape : kShapes) {
    const Inputs in(shape, 1);
    const auto expected = reference::AttentionForward(shape, in.qkv);
    const Values gradient = reference::AttentionBackwardInput(shape, in.qkv, in.dout);
    ForEachVariant([&](OpRun& run) {
      const Outputs got = Run(run, shape, in);
      assert_close(got.out, expected.out_RHD, kTolerance);
      assert_close(got.lse, expected.lse_BHT, kTolerance);
      assert_close(got.dqkv, gradient, kGradientTolerance);
    });
  }
}

// Scores in the hundreds: the softmax is nearly one-hot, and its exponentials must not overflow.
void LargeScores(void**) {
  const ops::AttentionShape shape = {1, 90, 2, 1, 32};
  const Inputs in(shape, 8);
  const auto expected = reference::AttentionForward(shape, in.qkv);
  const Values gradient = reference::AttentionBackwardInput(shape, in.qkv, in.dout);
  ForEachVariant([&](OpRun& run) {
    const Outputs got = Run(run, shape, in);
    assert_close(got.out, expected.out_RHD, 2e-4);
    assert_close(got.lse, expected.lse_BHT, 2e-6);
    assert_close(got.dqkv, gradient, 2e-3);
  });
}

// A later position, whatever finite values it holds, changes nothing before it.
void LooksAtNoLaterPosition(void**) {
  const ops::AttentionShape shape = {1, 80, 1, 1, 16};
  const int64_t row = 3 * 16, last = 70;
  ForEachVariant([&](OpRun& run) {
    Inputs in(shape, 1);
    const Outputs before = Run(run, shape, in);
    for (int64_t i = last * row; i < 80 * row; ++i) in.qkv[i] = i % 2 == 0 ? 1e12 : -1e12;
    const Outputs after = Run(run, shape, in);
    for (int64_t i = 0; i < last * 16; ++i) assert_true(before.out.data()[i] == after.out.data()[i]);
    assert_true(before.out.data()[last * 16] != after.out.data()[last * 16]);
  });
}

void NotANumberShows(void**) {
  const ops::AttentionShape shape = {1, 80, 1, 1, 16};
  ForEachVariant([&](OpRun& run) {
    for (int64_t at : {70 * 48, 70 * 48 + 16, 70 * 48 + 32}) {  // in a query, a key, a value
      Inputs in(shape, 1);
      in.qkv[at] = std::numeric_limits<double>::quiet_NaN();
      const Outputs got = Run(run, shape, in);
      assert_true(std::isnan(got.out.data()[70 * 16]));
    }
  });
}

void ThreadsDoNotChangeTheBits(void**) {
  const ops::AttentionShape shape = {2, 150, 6, 3, 48};
  const Inputs in(shape, 1);
  OpRun one = OpenOpRun(InstructionSet::kGeneric, 1, true);
  const Outputs first = Run(one, shape, in);
  for (int threads : {2, 3, 5}) {
    OpRun several = OpenOpRun(InstructionSet::kGeneric, threads, true);
    const Outputs other = Run(several, shape, in);
    assert_true(first.out == other.out && first.lse == other.lse && first.dqkv == other.dqkv);
  }
}

void RefusesWhatItCannotDo(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, true);
  Tensor any(Values(10, 0.0));
  const ops::AttentionShape bad[] = {{1, 2, 3, 2, 4}, {1, 2, 2, 2, 5}, {1, 2, 2, 2, 258}, {1, 0, 2, 2, 4}};
  for (const ops::AttentionShape& shape : bad) {
    assert_code(ops::AttentionForward(*run.context, shape, any.data(), any.data(), any.data(), run.workspace),
                ErrorCode::INTERNAL);
  }
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::BothPasses),
      cmocka_unit_test(traind::LargeScores),
      cmocka_unit_test(traind::LooksAtNoLaterPosition),
      cmocka_unit_test(traind::NotANumberShows),
      cmocka_unit_test(traind::ThreadsDoNotChangeTheBits),
      cmocka_unit_test(traind::RefusesWhatItCannotDo),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
