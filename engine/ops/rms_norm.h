// RMSNorm (Zhang and Sennrich 2019): y = weight · x / sqrt(mean(x²) + epsilon), the mean over the channels.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

struct RmsNormShape {
  int64_t rows = 0;
  int64_t channels = 0;
  float epsilon = 1e-5F;
};

// Saves rstd[r] = 1 / sqrt(mean(x[r]²) + epsilon) for the backward pass.
template <typename T>
Status RmsNormForward(Context& context, const RmsNormShape& shape, const T* x_RC, const T* weight_C, T* y_RC,
                      float* rstd_R);

// sum = residual + branch, then RmsNormForward of sum, in one pass. `sum` may be `residual` or `branch`.
template <typename T>
Status ResidualRmsNormForward(Context& context, const RmsNormShape& shape, const T* residual_RC,
                              const T* branch_RC, const T* weight_C, T* sum_RC, T* y_RC, float* rstd_R);

// With n = x·rstd and g = dy·weight: dx[r] += rstd · (g − n · mean(g·n)).
// Adds, because x is also the residual stream: dx already holds what comes from there.
template <typename T>
Status RmsNormBackwardInput(Context& context, const RmsNormShape& shape, const T* x_RC, const T* weight_C,
                            const float* rstd_R, const T* dy_RC, T* dx_RC);

// dweight[c] += Σ_r dy[r,c] · x[r,c] · rstd[r].
template <typename T>
Status RmsNormBackwardWeight(Context& context, const RmsNormShape& shape, const T* x_RC, const float* rstd_R,
                             const T* dy_RC, float* dweight_C);

}  // namespace traind::ops
