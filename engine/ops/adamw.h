// AdamW (Loshchilov and Hutter 2019): Adam with decoupled weight decay, as PyTorch computes it.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

struct AdamwSettings {
  double learning_rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0;    // 0 for norms and biases
  double gradient_scale = 1;  // the clip coefficient: min(1, max_grad_norm / (norm + 1e-6))
  int64_t step = 1;           // 1-based, for the bias correction
};

// With g = gradient · gradient_scale, one pass over the elements:
//   weight −= learning_rate · weight_decay · weight
//   m = beta1·m + (1 − beta1)·g;  v = beta2·v + (1 − beta2)·g²
//   weight −= learning_rate/(1 − beta1^step) · m / (sqrt(v)/sqrt(1 − beta2^step) + epsilon)
// `rounded`, if not null, gets the new weights in bf16: `weight` is then their master copy.
Status Adamw(Context& context, const AdamwSettings& settings, int64_t elements, const float* gradient,
             float* weight, float* m, float* v, Bfloat16* rounded = nullptr);

}  // namespace traind::ops
