// Elementwise operators: checks and dispatch.
#include "engine/ops/elementwise.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

Status Add(Context& context, int64_t elements, const float* a, const float* b, float* y) {
  TRAIND_TRY(CheckArguments("add", {{"elements", elements}}, {a, b, y}));
  context.kernels().add(context.ThreadsFor(elements), elements, a, b, y);
  return Ok();
}

Status Fill(Context& context, int64_t elements, float value, float* x) {
  TRAIND_TRY(CheckArguments("fill", {{"elements", elements}}, {x}));
  context.kernels().fill(context.ThreadsFor(elements), elements, value, x);
  return Ok();
}

Status Scale(Context& context, int64_t elements, float factor, float* x) {
  TRAIND_TRY(CheckArguments("scale", {{"elements", elements}}, {x}));
  context.kernels().scale(context.ThreadsFor(elements), elements, factor, x);
  return Ok();
}

}  // namespace traind::ops
