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

template <typename T>
Status GeluForward(Context& context, int64_t elements, const T* x, T* y) {
  TRAIND_TRY(CheckArguments("gelu forward", {{"elements", elements}}, {x, y}));
  context.kernels().Of<T>().gelu_forward(Threads(context, elements), elements, x, y);
  return Ok();
}

template <typename T>
Status GeluBackwardInput(Context& context, int64_t elements, const T* x, const T* dy, T* dx) {
  TRAIND_TRY(CheckArguments("gelu backward_input", {{"elements", elements}}, {x, dy, dx}));
  context.kernels().Of<T>().gelu_backward_input(Threads(context, elements), elements, x, dy, dx);
  return Ok();
}

template Status GeluForward(Context&, int64_t, const float*, float*);
template Status GeluForward(Context&, int64_t, const Bfloat16*, Bfloat16*);
template Status GeluBackwardInput(Context&, int64_t, const float*, const float*, float*);
template Status GeluBackwardInput(Context&, int64_t, const Bfloat16*, const Bfloat16*, Bfloat16*);

}  // namespace traind::ops
