// GELU (Hendrycks and Gimpel 2016) in its tanh form, Hugging Face's gelu_new:
// y = x/2 · (1 + tanh(u)) with u = sqrt(2/π) · (x + 0.044715·x³).
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

template <typename T>
Status GeluForward(Context& context, int64_t elements, const T* x, T* y);

// dx = dy · (s + x·s·(1 − s)·2u') with s = (1 + tanh(u))/2 = 1 / (1 + exp(−2u)). dx may be x itself.
template <typename T>
Status GeluBackwardInput(Context& context, int64_t elements, const T* x, const T* dy, T* dx);

}  // namespace traind::ops
