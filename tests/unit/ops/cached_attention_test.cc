// Attention over a cache, in pieces of any size, against the reference on the whole sequence.
#include "engine/ops/cached_attention.h"

#include <algorithm>
#include <limits>

#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

constexpr ops::AttentionShape kShapes[] = {{1, 1, 1, 1, 2},    {1, 7, 3, 3, 6},    {1, 16, 4, 2, 16},
                                           {1, 65, 6, 2, 32},  {1, 64, 2, 2, 64},  {1, 129, 4, 1, 10},
                                           {1, 200, 3, 1, 80}, {1, 97, 2, 2, 128}, {1, 70, 1, 1, 256},
                                           {1, 300, 2, 1, 18}, {1, 130, 2, 1, 254}};
constexpr double kTolerance = 4e-6;

// How many positions each call takes: all at once, one by one, uneven pieces.
const std::vector<std::vector<int64_t>> kPieces = {{1000}, {1}, {5, 1, 64, 3}, {64, 1}};

Tensor InPieces(OpRun& run, const ops::AttentionShape& shape, const Tensor& qkv,
                const std::vector<int64_t>& pieces, Tensor* cache, int64_t capacity) {
  const int64_t width = (shape.heads + 2 * shape.kv_heads) * shape.head_size;
  Tensor out(shape.sequence * shape.heads * shape.head_size);
  int64_t first = 0;
  for (size_t i = 0; first < shape.sequence; ++i) {
    const int64_t rows = std::min(pieces[i % pieces.size()], shape.sequence - first);
    const ops::CachedAttentionShape cached{rows,        first,          capacity,
                                           shape.heads, shape.kv_heads, shape.head_size};
    assert_ok(ops::CachedAttentionForward(*run.context, cached, qkv.data() + first * width, cache->data(),
                                          out.data() + first * shape.heads * shape.head_size));
    first += rows;
  }
  return out;
}

void EqualsAttentionOfTheWhole(void**) {
  for (const ops::AttentionShape& shape : kShapes) {
    const Values values =
        RandomValues(shape.sequence * (shape.heads + 2 * shape.kv_heads) * shape.head_size, 1, 1);
    const auto expected = reference::AttentionForward(shape, values);
    ForEachVariant([&](OpRun& run) {
      for (const std::vector<int64_t>& pieces : kPieces) {
        Tensor cache(ops::AttentionCacheElements(shape.sequence + 3, shape.kv_heads, shape.head_size));
        // What lies behind the positions so far is never looked at.
        std::fill_n(cache.data(), cache.elements(), std::numeric_limits<float>::quiet_NaN());
        const Tensor qkv(values);
        assert_close(InPieces(run, shape, qkv, pieces, &cache, shape.sequence + 3), expected.out_RHD,
                     kTolerance);
      }
    });
  }
}

// Scores in the hundreds: the softmax is nearly one-hot, and its exponentials must not overflow.
void LargeScores(void**) {
  const ops::AttentionShape shape = {1, 90, 2, 1, 32};
  const Values values = RandomValues(shape.sequence * 4 * shape.head_size, 1, 8);
  const auto expected = reference::AttentionForward(shape, values);
  ForEachVariant([&](OpRun& run) {
    Tensor cache(ops::AttentionCacheElements(shape.sequence, 1, shape.head_size));
    const Tensor qkv(values);
    assert_close(InPieces(run, shape, qkv, {1}, &cache, shape.sequence), expected.out_RHD, 2e-4);
  });
}

void RefusesPositionsBeyondTheCache(void**) {
  ForEachVariant([](OpRun& run) {
    Tensor qkv(3 * 4), cache(2 * 4 * 2), out(4);
    assert_ok(
        ops::CachedAttentionForward(*run.context, {1, 3, 4, 1, 1, 2}, qkv.data(), cache.data(), out.data()));
    assert_code(
        ops::CachedAttentionForward(*run.context, {1, 4, 4, 1, 1, 2}, qkv.data(), cache.data(), out.data()),
        ErrorCode::INTERNAL);
    assert_code(
        ops::CachedAttentionForward(*run.context, {1, -1, 4, 1, 1, 2}, qkv.data(), cache.data(), out.data()),
        ErrorCode::INTERNAL);
  });
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(EqualsAttentionOfTheWhole),
      cmocka_unit_test(LargeScores),
      cmocka_unit_test(RefusesPositionsBeyondTheCache),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
