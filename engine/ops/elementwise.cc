// Elementwise operators: checks and dispatch.
#include "engine/ops/elementwise.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

template <typename T>
Status Add(Context& context, int64_t elements, const T* a, const T* b, T* y) {
  TRAIND_TRY(CheckArguments("add", {{"elements", elements}}, {a, b, y}));
  context.kernels().Of<T>().add(context.ThreadsFor(elements), elements, a, b, y);
  return Ok();
}

template <typename T>
Status Fill(Context& context, int64_t elements, float value, T* x) {
  TRAIND_TRY(CheckArguments("fill", {{"elements", elements}}, {x}));
  context.kernels().Of<T>().fill(context.ThreadsFor(elements), elements, value, x);
  return Ok();
}

template <typename T>
Status Scale(Context& context, int64_t elements, float factor, T* x) {
  TRAIND_TRY(CheckArguments("scale", {{"elements", elements}}, {x}));
  context.kernels().Of<T>().scale(context.ThreadsFor(elements), elements, factor, x);
  return Ok();
}

Status Round(Context& context, int64_t elements, const float* x, Bfloat16* y) {
  TRAIND_TRY(CheckArguments("round", {{"elements", elements}}, {x, y}));
  context.kernels().round(context.ThreadsFor(elements), elements, x, y);
  return Ok();
}

template Status Add(Context&, int64_t, const float*, const float*, float*);
template Status Add(Context&, int64_t, const Bfloat16*, const Bfloat16*, Bfloat16*);
template Status Fill(Context&, int64_t, float, float*);
template Status Fill(Context&, int64_t, float, Bfloat16*);
template Status Scale(Context&, int64_t, float, float*);
template Status Scale(Context&, int64_t, float, Bfloat16*);

}  // namespace traind::ops
