// Attention over a cache on the CPU: one query of one head at a time, over blocks of keys with an online
// softmax. With one new position, which is the common case, the work is reading the cache once.
#include "engine/ops/cached_attention.h"

#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

constexpr int64_t kBlock = 64;

int64_t Min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

float Dot(int64_t elements, const float* a, const float* b) {
  Vector sums = {};
  int64_t i = 0;
  for (; i + kLanes <= elements; i += kLanes) sums += Load(a + i) * Load(b + i);
  if (i < elements) sums += LoadPart(a + i, elements - i) * LoadPart(b + i, elements - i);
  return Sum(sums);
}

// The part of the softmax that has been seen: weights are exp(score − largest).
struct Running {
  float largest, total;
  float sum[kMaxHeadSize];
};

void Scale(int64_t elements, float factor, float* x) {
#pragma omp simd
  for (int64_t i = 0; i < elements; ++i) x[i] *= factor;
}

// Adds up to kBlock keys, whose rows lie `stride` apart, with their values.
void AddBlock(int64_t keys, int64_t head_size, int64_t stride, const float* query, const float* key,
              const float* value, Running& running) {
  float weight[kBlock];
  float largest = running.largest;
  for (int64_t i = 0; i < keys; ++i) {
    weight[i] = Dot(head_size, query, key + i * stride);
    largest = weight[i] > largest ? weight[i] : largest;
  }
  for (int64_t i = keys; i < kBlock; ++i) weight[i] = -__builtin_inff();
  Vector total = {};
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    const Vector p = Exp(Load(weight + i) - largest);
    Store(weight + i, p);
    total += p;
  }
  const float shrink = Exp(Broadcast(running.largest - largest))[0];
  Scale(head_size, shrink, running.sum);
  for (int64_t i = 0; i < keys; ++i) {
    const float* row = value + i * stride;
    const float share = weight[i];
#pragma omp simd
    for (int64_t d = 0; d < head_size; ++d) running.sum[d] += share * row[d];
  }
  running.total = running.total * shrink + Sum(total);
  running.largest = largest;
}

void AttendOne(const CachedAttentionShape& s, int64_t row, int64_t head, const float* qkv, const float* cache,
               float* out) {
  const int64_t group = head / (s.heads / s.kv_heads);
  const int64_t stride = 2 * s.kv_heads * s.head_size;
  const float* from = qkv + row * (s.heads + 2 * s.kv_heads) * s.head_size + head * s.head_size;
  const float scale = 1.0F / __builtin_sqrtf((float)s.head_size);
  float query[kMaxHeadSize];
  for (int64_t i = 0; i < s.head_size; ++i) query[i] = from[i] * scale;
  Running running;
  running.largest = -__builtin_inff();
  running.total = 0;
  for (int64_t i = 0; i < s.head_size; ++i) running.sum[i] = 0;
  const float* key = cache + group * s.head_size;
  const float* value = key + s.kv_heads * s.head_size;
  const int64_t positions = s.first + row + 1;
  for (int64_t begin = 0; begin < positions; begin += kBlock) {
    AddBlock(Min(kBlock, positions - begin), s.head_size, stride, query, key + begin * stride,
             value + begin * stride, running);
  }
  Scale(s.head_size, 1.0F / running.total, running.sum);
  float* to = out + (row * s.heads + head) * s.head_size;
  for (int64_t i = 0; i < s.head_size; ++i) to[i] = running.sum[i];
}

// A task is a head of a row: nothing is summed over tasks.
void Forward(int threads, const CachedAttentionShape& shape, const float* qkv, float* cache, float* out) {
  const int64_t stored = 2 * shape.kv_heads * shape.head_size;
  const int64_t row_elements = shape.heads * shape.head_size + stored;
  for (int64_t row = 0; row < shape.rows; ++row) {
    __builtin_memcpy(cache + (shape.first + row) * stored,
                     qkv + row * row_elements + shape.heads * shape.head_size, (size_t)stored * 4);
  }
  const int64_t tasks = shape.rows * shape.heads;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t task = 0; task < tasks; ++task) {
    AttendOne(shape, task / shape.heads, task % shape.heads, qkv, cache, out);
  }
}

}  // namespace

void InstallCachedAttention(CpuKernels& table) {
  table.cached_attention_forward = Forward;
}

}  // namespace traind::ops::TRAIND_KERNELS
