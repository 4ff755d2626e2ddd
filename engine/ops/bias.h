// Bias: the gradient of what a linear adds to each of its outputs (linear.h adds it).
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

struct BiasShape {
  int64_t rows = 0;
  int64_t channels = 0;
};

// dbias[c] += Σ_r dy[r,c].
template <typename T>
Status BiasBackwardWeight(Context& context, const BiasShape& shape, const T* dy_RC, float* dbias_C);

}  // namespace traind::ops
