// The sum of squares of a gradient, for clipping by the global norm.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

// *sum += Σ x², in double and in a fixed order that does not depend on the number of threads.
// Not a number or infinite if and only if an element is.
Status SquareNorm(Context& context, int64_t elements, const float* x, double* sum);

}  // namespace traind::ops
