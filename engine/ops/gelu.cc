// GELU: checks and dispatch.
#include "engine/ops/gelu.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

int Threads(const Context& context, int64_t elements) {
  constexpr int64_t kOperationsPerElement = 4;  // with its exponential
  return context.ThreadsFor(elements * kOperationsPerElement);
}

}  // namespace

Status GeluForward(Context& context, int64_t elements, const float* x, float* y) {
  TRAIND_TRY(CheckArguments("gelu forward", {{"elements", elements}}, {x, y}));
  context.kernels().gelu_forward(Threads(context, elements), elements, x, y);
  return Ok();
}

Status GeluBackwardInput(Context& context, int64_t elements, const float* x, const float* dy, float* dx) {
  TRAIND_TRY(CheckArguments("gelu backward_input", {{"elements", elements}}, {x, dy, dx}));
  context.kernels().gelu_backward_input(Threads(context, elements), elements, x, dy, dx);
  return Ok();
}

}  // namespace traind::ops
