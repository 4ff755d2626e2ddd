// LayerNorm (Ba et al. 2016): y = weight · (x − mean(x)) / sqrt(variance(x) + epsilon) + bias, mean and
// variance over the channels.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

struct LayerNormShape {
  int64_t rows = 0;
  int64_t channels = 0;
  float epsilon = 1e-5F;
};

// Saves {mean, rstd} of each row, rstd[r] = 1 / sqrt(variance(x[r]) + epsilon), for the backward pass.
template <typename T>
Status LayerNormForward(Context& context, const LayerNormShape& shape, const T* x_RC, const T* weight_C,
                        const T* bias_C, T* y_RC, float* statistic_R2);

// sum = residual + branch, then LayerNormForward of sum, in one pass. `sum` may be `residual` or `branch`.
template <typename T>
Status ResidualLayerNormForward(Context& context, const LayerNormShape& shape, const T* residual_RC,
                                const T* branch_RC, const T* weight_C, const T* bias_C, T* sum_RC, T* y_RC,
                                float* statistic_R2);

// With n = (x − mean)·rstd and g = dy·weight: dx[r] += rstd · (g − mean(g) − n · mean(g·n)).
// Adds, because x is also the residual stream: dx already holds what comes from there.
template <typename T>
Status LayerNormBackwardInput(Context& context, const LayerNormShape& shape, const T* x_RC, const T* weight_C,
                              const float* statistic_R2, const T* dy_RC, T* dx_RC);

// dweight[c] += Σ_r dy[r,c] · n[r,c]; dbias[c] += Σ_r dy[r,c].
template <typename T>
Status LayerNormBackwardWeight(Context& context, const LayerNormShape& shape, const T* x_RC,
                               const float* statistic_R2, const T* dy_RC, float* dweight_C, float* dbias_C);

}  // namespace traind::ops
