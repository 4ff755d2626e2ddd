// Sum of squares: checks and dispatch.
#include "engine/ops/square_norm.h"

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

Status SquareNorm(Context& context, int64_t elements, const float* x, double* sum) {
  TRAIND_TRY(CheckArguments("square_norm", {{"elements", elements}}, {x, sum}));
  *sum += context.kernels().square_norm(context.ThreadsFor(elements), elements, x);
  return Ok();
}

}  // namespace traind::ops
