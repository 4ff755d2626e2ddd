// Learned positions: checks and dispatch.
#include "engine/ops/position.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

Status Check(std::string_view op, const PositionShape& shape, std::initializer_list<const void*> tensors) {
  TRAIND_TRY(CheckArguments(op,
                            {{"batch", shape.batch},
                             {"sequence", shape.sequence},
                             {"positions", shape.positions},
                             {"channels", shape.channels}},
                            tensors));
  if (shape.first >= 0 && shape.first <= shape.positions - shape.sequence) return Ok();
  return Status(ErrorCode::INTERNAL, std::string(op) + ": positions from " + std::to_string(shape.first) +
                                         " for a sequence of " + std::to_string(shape.sequence) +
                                         " leave the table of " + std::to_string(shape.positions));
}

int Threads(const Context& context, const PositionShape& shape) {
  return context.ThreadsFor(shape.batch * shape.sequence * shape.channels);
}

}  // namespace

template <typename T>
Status PositionForward(Context& context, const PositionShape& shape, const T* weight_PC, T* x_BTC) {
  TRAIND_TRY(Check("position forward", shape, {weight_PC, x_BTC}));
  context.kernels().Of<T>().position_forward(Threads(context, shape), shape.batch, shape.sequence,
                                             shape.channels, weight_PC + shape.first * shape.channels, x_BTC);
  return Ok();
}

template <typename T>
Status PositionBackwardWeight(Context& context, const PositionShape& shape, const T* dx_BTC,
                              float* dweight_PC) {
  TRAIND_TRY(Check("position backward_weight", shape, {dx_BTC, dweight_PC}));
  context.kernels().Of<T>().position_backward_weight(Threads(context, shape), shape.batch, shape.sequence,
                                                     shape.channels, dx_BTC,
                                                     dweight_PC + shape.first * shape.channels);
  return Ok();
}

template Status PositionForward(Context&, const PositionShape&, const float*, float*);
template Status PositionForward(Context&, const PositionShape&, const Bfloat16*, Bfloat16*);
template Status PositionBackwardWeight(Context&, const PositionShape&, const float*, float*);
template Status PositionBackwardWeight(Context&, const PositionShape&, const Bfloat16*, float*);

}  // namespace traind::ops
