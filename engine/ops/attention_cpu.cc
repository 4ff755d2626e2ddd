// Attention on the CPU.
#include "engine/ops/attention.h"

#include "engine/ops/cpu_kernel.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

float Dot(int64_t count, const float* a, const float* b) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void ForwardHead(const AttentionShape& s, int64_t b, int64_t h, const float* qkv, float* out, float* lse) {
  const int64_t d = s.head_size, stride = (s.heads + 2 * s.kv_heads) * d;
  const float* q = qkv + b * s.sequence * stride + h * d;
  const float* k = qkv + b * s.sequence * stride + (s.heads + h / (s.heads / s.kv_heads)) * d;
  const float* v = k + s.kv_heads * d;
  const float scale = 1.0F / __builtin_sqrtf((float)d);
  for (int64_t t = 0; t < s.sequence; ++t) {
    float* o = out + ((b * s.sequence + t) * s.heads + h) * d;
    float largest = -__builtin_inff(), sum = 0;
    for (int64_t i = 0; i < d; ++i) o[i] = 0;
    for (int64_t u = 0; u <= t; ++u) {
      const float score = Dot(d, q + t * stride, k + u * stride) * scale;
      const float next = score > largest ? score : largest;
      const float shrink = __builtin_expf(largest - next), p = __builtin_expf(score - next);
      sum = sum * shrink + p;
      for (int64_t i = 0; i < d; ++i) o[i] = o[i] * shrink + p * v[u * stride + i];
      largest = next;
    }
    for (int64_t i = 0; i < d; ++i) o[i] /= sum;
    lse[(b * s.heads + h) * s.sequence + t] = largest + __builtin_logf(sum);
  }
}

void Forward(int threads, const AttentionShape& shape, const float* qkv, float* out, float* lse, float*) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t task = 0; task < shape.batch * shape.heads; ++task) {
    ForwardHead(shape, task / shape.heads, task % shape.heads, qkv, out, lse);
  }
}

void BackwardHead(const AttentionShape& s, int64_t b, int64_t h, const float* qkv, const float* out,
                  const float* lse, const float* dout, float* dqkv) {
  const int64_t d = s.head_size, stride = (s.heads + 2 * s.kv_heads) * d;
  const int64_t first = b * s.sequence * stride;
  const int64_t q = first + h * d, k = first + (s.heads + h / (s.heads / s.kv_heads)) * d,
                v = k + s.kv_heads * d;
  const float scale = 1.0F / __builtin_sqrtf((float)d);
  for (int64_t t = 0; t < s.sequence; ++t) {
    const int64_t row = ((b * s.sequence + t) * s.heads + h) * d, at = t * stride;
    const float delta = Dot(d, out + row, dout + row);
    for (int64_t u = 0; u <= t; ++u) {
      const int64_t to = u * stride;
      const float score = Dot(d, qkv + q + at, qkv + k + to) * scale;
      const float p = __builtin_expf(score - lse[(b * s.heads + h) * s.sequence + t]);
      const float ds = p * (Dot(d, dout + row, qkv + v + to) - delta) * scale;
      for (int64_t i = 0; i < d; ++i) {
        dqkv[v + to + i] += p * dout[row + i];
        dqkv[q + at + i] += ds * qkv[k + to + i];
        dqkv[k + to + i] += ds * qkv[q + at + i];
      }
    }
  }
}

void BackwardInput(int threads, const AttentionShape& shape, const float* qkv, const float* out,
                   const float* lse, const float* dout, float* dqkv, float*) {
  const int64_t elements =
      shape.batch * shape.sequence * (shape.heads + 2 * shape.kv_heads) * shape.head_size;
  for (int64_t i = 0; i < elements; ++i) dqkv[i] = 0;
  const int64_t group = shape.heads / shape.kv_heads;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t task = 0; task < shape.batch * shape.kv_heads; ++task) {
    for (int64_t i = 0; i < group; ++i) {
      BackwardHead(shape, task / shape.kv_heads, task % shape.kv_heads * group + i, qkv, out, lse, dout,
                   dqkv);
    }
  }
}

}  // namespace

void InstallAttention(CpuKernels& table) {
  table.attention_forward = Forward;
  table.attention_backward_input = BackwardInput;
}

}  // namespace traind::ops::TRAIND_KERNELS
