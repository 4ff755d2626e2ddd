// The elementwise operators: add, fill and scale.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

// y = a + b. y may be a or b.
Status Add(Context& context, int64_t elements, const float* a, const float* b, float* y);

// x = value, also where x was not a number.
Status Fill(Context& context, int64_t elements, float value, float* x);

// x = x · factor.
Status Scale(Context& context, int64_t elements, float factor, float* x);

}  // namespace traind::ops
