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
Status RmsNormForward(Context& context, const RmsNormShape& shape, const float* x_RC, const float* weight_C,
                      float* y_RC, float* rstd_R);

// sum = residual + branch, then RmsNormForward of sum, in one pass. `sum` may be `residual` or `branch`.
Status ResidualRmsNormForward(Context& context, const RmsNormShape& shape, const float* residual_RC,
                              const float* branch_RC, const float* weight_C, float* sum_RC, float* y_RC,
                              float* rstd_R);

// With n = x·rstd and g = dy·weight: dx[r] += rstd · (g − n · mean(g·n)).
// Adds, because x is also the residual stream: dx already holds what comes from there.
Status RmsNormBackwardInput(Context& context, const RmsNormShape& shape, const float* x_RC,
                            const float* weight_C, const float* rstd_R, const float* dy_RC, float* dx_RC);

// dweight[c] += Σ_r dy[r,c] · x[r,c] · rstd[r].
Status RmsNormBackwardWeight(Context& context, const RmsNormShape& shape, const float* x_RC,
                             const float* rstd_R, const float* dy_RC, float* dweight_C);

}  // namespace traind::ops
