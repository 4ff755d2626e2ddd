// Bias: checks and dispatch.
#include "engine/ops/bias.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status Check(std::string_view op, const BiasShape& shape, std::initializer_list<const void*> tensors) {
  return CheckArguments(op, {{"rows", shape.rows}, {"channels", shape.channels}}, tensors);
}

int Threads(const Context& context, const BiasShape& shape) {
  return context.ThreadsFor(shape.rows * shape.channels);
}

}  // namespace

template <typename T>
Status BiasBackwardWeight(Context& context, const BiasShape& shape, const T* dy_RC, float* dbias_C) {
  TRAIND_TRY(Check("bias backward_weight", shape, {dy_RC, dbias_C}));
  context.kernels().Of<T>().bias_backward_weight(Threads(context, shape), shape.rows, shape.channels, dy_RC,
                                                 dbias_C);
  return Ok();
}

template Status BiasBackwardWeight(Context&, const BiasShape&, const float*, float*);
template Status BiasBackwardWeight(Context&, const BiasShape&, const Bfloat16*, float*);

}  // namespace traind::ops
