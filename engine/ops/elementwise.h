// The elementwise operators: add, fill and scale.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

// y = a + b. y may be a or b.
template <typename T>
Status Add(Context& context, int64_t elements, const T* a, const T* b, T* y);

// y = x in bf16, each the nearest.
Status Round(Context& context, int64_t elements, const float* x, Bfloat16* y);

// x = value, also where x was not a number.
template <typename T>
Status Fill(Context& context, int64_t elements, float value, T* x);

// x = x · factor.
template <typename T>
Status Scale(Context& context, int64_t elements, float factor, T* x);

}  // namespace traind::ops
