// Embedding against the reference.
#include "engine/ops/embedding.h"

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::EmbeddingShape kShapes[] = {
    {1, 1, 1}, {1, 300, 64}, {37, 5, 17}, {64, 256, 96}, {130, 70, 33}};

void Forward(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::EmbeddingShape& shape : kShapes) {
      const auto tokens = RandomTokens(shape.rows, shape.vocab, 1);
      const Values weight = RandomValues(shape.vocab * shape.channels, 2);
      Tensor y(shape.rows * shape.channels);
      assert_ok(ops::EmbeddingForward(*run.context, shape, tokens.data(), Tensor(weight).data(), y.data()));
      assert_close(y, reference::EmbeddingForward(shape, tokens, weight), 0);
    }
  });
}

void BackwardWeightAdds(void**) {
  ForEachVariant([](OpRun& run) {
    for (const ops::EmbeddingShape& shape : kShapes) {
      const auto tokens = RandomTokens(shape.rows, shape.vocab, 1);
      const Values dy = RandomValues(shape.rows * shape.channels, 2);
      const Values before = RandomValues(shape.vocab * shape.channels, 3);
      Values expected = reference::EmbeddingBackwardWeight(shape, tokens, dy);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += before[i];
      Tensor dweight(before);
      assert_ok(ops::EmbeddingBackwardWeight(*run.context, shape, tokens.data(), Tensor(dy).data(),
                                             dweight.data()));
      assert_close(dweight, expected, 2e-6);
    }
  });
}

void RefusesTokensBeyondTheVocabulary(void**) {
  OpRun run = OpenOpRun(InstructionSet::kGeneric, 1, true);
  Tensor weight(Values(8, 1.0)), y(Values(4, 5.0));
  for (int32_t bad : {-1, 4, INT32_MAX}) {
    const int32_t tokens[] = {0, bad};
    assert_code(ops::EmbeddingForward(*run.context, {2, 4, 2}, tokens, weight.data(), y.data()),
                ErrorCode::TOKEN_OUT_OF_RANGE);
    assert_code(ops::EmbeddingBackwardWeight(*run.context, {2, 4, 2}, tokens, y.data(), weight.data()),
                ErrorCode::TOKEN_OUT_OF_RANGE);
  }
  assert_true(y == Tensor(Values(4, 5.0)));
  const int32_t tokens[] = {0, 0};
  assert_code(ops::EmbeddingForward(*run.context, {0, 4, 2}, tokens, weight.data(), y.data()),
              ErrorCode::INTERNAL);
  assert_code(ops::EmbeddingForward<float>(*run.context, {2, 4, 2}, tokens, nullptr, y.data()),
              ErrorCode::INTERNAL);
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::Forward),
      cmocka_unit_test(traind::BackwardWeightAdds),
      cmocka_unit_test(traind::RefusesTokensBeyondTheVocabulary),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
