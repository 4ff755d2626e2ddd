// RoPE: checks, the table and dispatch.
#include "engine/ops/rope.h"

#include <cmath>
#include <numbers>

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status CheckEven(int64_t head_size) {
  if (head_size % 2 == 0) return Ok();
  return Status(ErrorCode::INTERNAL,
                "rope: head_size is " + std::to_string(head_size) + ", an even number is needed");
}

// In fp32 and in transformers' order of operations.
float Stretched(const RopeFrequencies& frequencies, float plain) {
  const auto factor = static_cast<float>(frequencies.factor);
  if (frequencies.stretch == RopeStretch::kNone) return plain;
  if (frequencies.stretch == RopeStretch::kLinear) return plain / factor;
  const float wavelength = static_cast<float>(2 * std::numbers::pi) / plain;
  if (wavelength > static_cast<float>(frequencies.original / frequencies.low)) return plain / factor;
  if (wavelength < static_cast<float>(frequencies.original / frequencies.high)) return plain;
  const float smooth =
      (static_cast<float>(frequencies.original) / wavelength - static_cast<float>(frequencies.low)) /
      static_cast<float>(frequencies.high - frequencies.low);
  return (1.0F - smooth) * plain / factor + smooth * plain;
}

template <typename T>
Status Rotate(Context& context, const RopeShape& shape, float direction, const float* table, T* qkv) {
  TRAIND_TRY(CheckArguments("rope",
                            {{"batch", shape.batch},
                             {"sequence", shape.sequence},
                             {"heads", shape.heads},
                             {"kv_heads", shape.kv_heads},
                             {"head_size", shape.head_size}},
                            {table, qkv}));
  TRAIND_TRY(CheckEven(shape.head_size));
  const int64_t rotated = shape.batch * shape.sequence * (shape.heads + shape.kv_heads) * shape.head_size;
  context.kernels().Of<T>().rope(context.ThreadsFor(rotated), shape, direction, table, qkv);
  return Ok();
}

}  // namespace

Status RopeTable(int64_t sequence, int64_t head_size, const RopeFrequencies& frequencies, float* table_TD) {
  TRAIND_TRY(CheckArguments("rope table", {{"sequence", sequence}, {"head_size", head_size}}, {table_TD}));
  TRAIND_TRY(CheckEven(head_size));
  const int64_t half = head_size / 2;
  for (int64_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_size);
    const float plain = 1.0F / static_cast<float>(std::pow(frequencies.theta, static_cast<double>(exponent)));
    const float frequency = Stretched(frequencies, plain);
    for (int64_t t = 0; t < sequence; ++t) {
      const float angle = static_cast<float>(t) * frequency;
      table_TD[t * head_size + i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      table_TD[t * head_size + half + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
  return Ok();
}

template <typename T>
Status RopeForward(Context& context, const RopeShape& shape, const float* table_TD, T* qkv) {
  return Rotate(context, shape, 1.0F, table_TD, qkv);
}

template <typename T>
Status RopeBackwardInput(Context& context, const RopeShape& shape, const float* table_TD, T* dqkv) {
  return Rotate(context, shape, -1.0F, table_TD, dqkv);
}

template Status RopeForward(Context&, const RopeShape&, const float*, float*);
template Status RopeForward(Context&, const RopeShape&, const float*, Bfloat16*);
template Status RopeBackwardInput(Context&, const RopeShape&, const float*, float*);
template Status RopeBackwardInput(Context&, const RopeShape&, const float*, Bfloat16*);

}  // namespace traind::ops
