// The definitions of the operators that gpt2 adds; see the header.
#include <cmath>
#include <numbers>

#include "tests/support/reference_ops.h"

namespace traind::reference {

namespace {

constexpr double kCubic = 0.044715;

double Inner(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + kCubic * x * x * x);
}

}  // namespace

Values PositionForward(const ops::PositionShape& shape, const Values& weight_PC, const Values& x_BTC) {
  Values y = x_BTC;
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t t = 0; t < shape.sequence; ++t) {
      for (int64_t c = 0; c < shape.channels; ++c) {
        y[(b * shape.sequence + t) * shape.channels + c] += weight_PC[(shape.first + t) * shape.channels + c];
      }
    }
  }
  return y;
}

Values PositionBackwardWeight(const ops::PositionShape& shape, const Values& dx_BTC) {
  Values dweight(shape.positions * shape.channels);
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t t = 0; t < shape.sequence; ++t) {
      for (int64_t c = 0; c < shape.channels; ++c) {
        dweight[(shape.first + t) * shape.channels + c] +=
            dx_BTC[(b * shape.sequence + t) * shape.channels + c];
      }
    }
  }
  return dweight;
}

LayerNormResult LayerNormForward(const ops::LayerNormShape& shape, const Values& x_RC, const Values& weight_C,
                                 const Values& bias_C) {
  const auto channels = static_cast<double>(shape.channels);
  LayerNormResult result{Values(x_RC.size()), Values(2 * shape.rows)};
  for (int64_t r = 0; r < shape.rows; ++r) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < shape.channels; ++c) mean += x_RC[r * shape.channels + c] / channels;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const double difference = x_RC[r * shape.channels + c] - mean;
      variance += difference * difference / channels;
    }
    const double rstd = 1 / std::sqrt(variance + static_cast<double>(shape.epsilon));
    result.statistic_R2[2 * r] = mean;
    result.statistic_R2[2 * r + 1] = rstd;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t i = r * shape.channels + c;
      result.y_RC[i] = (x_RC[i] - mean) * rstd * weight_C[c] + bias_C[c];
    }
  }
  return result;
}

Values LayerNormBackwardInput(const ops::LayerNormShape& shape, const Values& x_RC, const Values& weight_C,
                              const Values& dy_RC) {
  const auto channels = static_cast<double>(shape.channels);
  const Values statistic = LayerNormForward(shape, x_RC, weight_C, Values(shape.channels)).statistic_R2;
  Values dx(x_RC.size());
  for (int64_t r = 0; r < shape.rows; ++r) {
    const double mean = statistic[2 * r], rstd = statistic[2 * r + 1];
    double g_mean = 0, gn_mean = 0;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t i = r * shape.channels + c;
      g_mean += dy_RC[i] * weight_C[c] / channels;
      gn_mean += dy_RC[i] * weight_C[c] * (x_RC[i] - mean) * rstd / channels;
    }
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t i = r * shape.channels + c;
      dx[i] = rstd * (dy_RC[i] * weight_C[c] - g_mean - (x_RC[i] - mean) * rstd * gn_mean);
    }
  }
  return dx;
}

LayerNormGradients LayerNormBackwardWeight(const ops::LayerNormShape& shape, const Values& x_RC,
                                           const Values& dy_RC) {
  const Values ones(shape.channels, 1.0), zeros(shape.channels);
  const Values normed = LayerNormForward(shape, x_RC, ones, zeros).y_RC;
  LayerNormGradients gradients{Values(shape.channels), Values(shape.channels)};
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t i = r * shape.channels + c;
      gradients.weight_C[c] += dy_RC[i] * normed[i];
      gradients.bias_C[c] += dy_RC[i];
    }
  }
  return gradients;
}

Values BiasForward(const ops::BiasShape& shape, const Values& bias_C, const Values& y_RC) {
  Values y = y_RC;
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t c = 0; c < shape.channels; ++c) y[r * shape.channels + c] += bias_C[c];
  }
  return y;
}

Values BiasBackwardWeight(const ops::BiasShape& shape, const Values& dy_RC) {
  Values dbias(shape.channels);
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t c = 0; c < shape.channels; ++c) dbias[c] += dy_RC[r * shape.channels + c];
  }
  return dbias;
}

Values GeluForward(const Values& x) {
  Values y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] / 2 * (1 + std::tanh(Inner(x[i])));
  return y;
}

Values GeluBackwardInput(const Values& x, const Values& dy) {
  Values dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double tanh = std::tanh(Inner(x[i]));
    const double du = std::sqrt(2 / std::numbers::pi) * (1 + 3 * kCubic * x[i] * x[i]);
    dx[i] = dy[i] * ((1 + tanh) / 2 + x[i] / 2 * (1 - tanh * tanh) * du);
  }
  return dx;
}

}  // namespace traind::reference
