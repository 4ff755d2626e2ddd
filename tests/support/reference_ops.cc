// The operators' definitions; see the header.
#include "tests/support/reference_ops.h"

#include <algorithm>
#include <cmath>

namespace traind::reference {

namespace {

double Sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

Values EmbeddingForward(const ops::EmbeddingShape& shape, const Tokens& token, const Values& weight_VC) {
  Values y(shape.rows * shape.channels);
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      y[r * shape.channels + c] = weight_VC[token[r] * shape.channels + c];
    }
  }
  return y;
}

Values EmbeddingBackwardWeight(const ops::EmbeddingShape& shape, const Tokens& token, const Values& dy_RC) {
  Values dweight(shape.vocab * shape.channels);
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      dweight[token[r] * shape.channels + c] += dy_RC[r * shape.channels + c];
    }
  }
  return dweight;
}

RmsNormResult RmsNormForward(const ops::RmsNormShape& shape, const Values& x_RC, const Values& weight_C) {
  RmsNormResult result{Values(x_RC.size()), Values(shape.rows)};
  for (int64_t r = 0; r < shape.rows; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < shape.channels; ++c) {
      squares += x_RC[r * shape.channels + c] * x_RC[r * shape.channels + c];
    }
    result.rstd_R[r] =
        1 / std::sqrt(squares / static_cast<double>(shape.channels) + static_cast<double>(shape.epsilon));
    for (int64_t c = 0; c < shape.channels; ++c) {
      result.y_RC[r * shape.channels + c] = x_RC[r * shape.channels + c] * result.rstd_R[r] * weight_C[c];
    }
  }
  return result;
}

Values RmsNormBackwardInput(const ops::RmsNormShape& shape, const Values& x_RC, const Values& weight_C,
                            const Values& dy_RC) {
  const Values rstd = RmsNormForward(shape, x_RC, weight_C).rstd_R;
  Values dx(x_RC.size());
  for (int64_t r = 0; r < shape.rows; ++r) {
    double mean = 0;  // of g·n
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t i = r * shape.channels + c;
      mean += dy_RC[i] * weight_C[c] * x_RC[i] * rstd[r] / static_cast<double>(shape.channels);
    }
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t i = r * shape.channels + c;
      dx[i] = rstd[r] * (dy_RC[i] * weight_C[c] - x_RC[i] * rstd[r] * mean);
    }
  }
  return dx;
}

Values RmsNormBackwardWeight(const ops::RmsNormShape& shape, const Values& x_RC, const Values& dy_RC) {
  const Values rstd = RmsNormForward(shape, x_RC, Values(shape.channels, 1.0)).rstd_R;
  Values dweight(shape.channels);
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      dweight[c] += dy_RC[r * shape.channels + c] * x_RC[r * shape.channels + c] * rstd[r];
    }
  }
  return dweight;
}

namespace {

// Where the weight of an output and an input lies.
int64_t WeightAt(const ops::LinearShape& shape, int64_t o, int64_t i) {
  return shape.order == ops::WeightOrder::kOutputInput ? o * shape.inputs + i : i * shape.outputs + o;
}

}  // namespace

Values LinearForward(const ops::LinearShape& shape, const Values& x_RI, const Values& weight_OI) {
  Values y(shape.rows * shape.outputs);
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t o = 0; o < shape.outputs; ++o) {
      for (int64_t i = 0; i < shape.inputs; ++i) {
        y[r * shape.outputs + o] += x_RI[r * shape.inputs + i] * weight_OI[WeightAt(shape, o, i)];
      }
    }
  }
  return y;
}

Values LinearBackwardInput(const ops::LinearShape& shape, const Values& dy_RO, const Values& weight_OI) {
  Values dx(shape.rows * shape.inputs);
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t o = 0; o < shape.outputs; ++o) {
      for (int64_t i = 0; i < shape.inputs; ++i) {
        dx[r * shape.inputs + i] += dy_RO[r * shape.outputs + o] * weight_OI[WeightAt(shape, o, i)];
      }
    }
  }
  return dx;
}

Values LinearBackwardWeight(const ops::LinearShape& shape, const Values& dy_RO, const Values& x_RI) {
  Values dweight(shape.outputs * shape.inputs);
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t o = 0; o < shape.outputs; ++o) {
      for (int64_t i = 0; i < shape.inputs; ++i) {
        dweight[WeightAt(shape, o, i)] += dy_RO[r * shape.outputs + o] * x_RI[r * shape.inputs + i];
      }
    }
  }
  return dweight;
}

Values Rope(const ops::RopeShape& shape, double theta, double direction, const Values& qkv) {
  Values rotated = qkv;
  const int64_t half = shape.head_size / 2, all_heads = shape.heads + 2 * shape.kv_heads;
  for (int64_t r = 0; r < shape.batch * shape.sequence; ++r) {
    for (int64_t h = 0; h < shape.heads + shape.kv_heads; ++h) {
      for (int64_t i = 0; i < half; ++i) {
        const double frequency =
            std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(shape.head_size));
        const double angle = direction * static_cast<double>(r % shape.sequence) * frequency;
        const int64_t first = (r * all_heads + h) * shape.head_size + i, second = first + half;
        rotated[first] = qkv[first] * std::cos(angle) - qkv[second] * std::sin(angle);
        rotated[second] = qkv[second] * std::cos(angle) + qkv[first] * std::sin(angle);
      }
    }
  }
  return rotated;
}

namespace {

// Where query, key and value vectors of the fused buffer begin.
struct QkvLayout {
  explicit QkvLayout(const ops::AttentionShape& shape) : s(shape) {}

  int64_t Row(int64_t b, int64_t t) const {
    return (b * s.sequence + t) * (s.heads + 2 * s.kv_heads) * s.head_size;
  }
  int64_t Query(int64_t b, int64_t t, int64_t h) const { return Row(b, t) + h * s.head_size; }
  int64_t Key(int64_t b, int64_t t, int64_t h) const {
    return Row(b, t) + (s.heads + h / (s.heads / s.kv_heads)) * s.head_size;
  }
  int64_t Value(int64_t b, int64_t t, int64_t h) const { return Key(b, t, h) + s.kv_heads * s.head_size; }
  int64_t Out(int64_t b, int64_t t, int64_t h) const {
    return ((b * s.sequence + t) * s.heads + h) * s.head_size;
  }

  ops::AttentionShape s;
};

double Dot(int64_t count, const Values& a, int64_t at, const Values& b, int64_t bt) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[at + i] * b[bt + i];
  return sum;
}

struct Softmax {
  Values p;  // over keys 0 … t
  double lse = 0;
};

Softmax Probabilities(const QkvLayout& layout, const Values& qkv, int64_t b, int64_t h, int64_t t) {
  const int64_t size = layout.s.head_size;
  Softmax softmax{Values(t + 1)};
  for (int64_t u = 0; u <= t; ++u) {
    softmax.p[u] = Dot(size, qkv, layout.Query(b, t, h), qkv, layout.Key(b, u, h)) /
                   std::sqrt(static_cast<double>(size));
  }
  const double largest = *std::max_element(softmax.p.begin(), softmax.p.end());
  double sum = 0;
  for (double score : softmax.p) sum += std::exp(score - largest);
  softmax.lse = largest + std::log(sum);
  for (double& p : softmax.p) p = std::exp(p - softmax.lse);
  return softmax;
}

// The gradients of one query: from its output's to those of the query, the keys and the values.
void BackwardQuery(const QkvLayout& layout, const Values& qkv, const Values& dout, int64_t b, int64_t h,
                   int64_t t, Values& dqkv) {
  const int64_t size = layout.s.head_size;
  const Values p = Probabilities(layout, qkv, b, h, t).p;
  Values dp(t + 1);
  double mean = 0;
  for (int64_t u = 0; u <= t; ++u) {
    dp[u] = Dot(size, dout, layout.Out(b, t, h), qkv, layout.Value(b, u, h));
    mean += p[u] * dp[u];
  }
  for (int64_t u = 0; u <= t; ++u) {
    const double dscore = p[u] * (dp[u] - mean) / std::sqrt(static_cast<double>(size));
    for (int64_t i = 0; i < size; ++i) {
      dqkv[layout.Query(b, t, h) + i] += dscore * qkv[layout.Key(b, u, h) + i];
      dqkv[layout.Key(b, u, h) + i] += dscore * qkv[layout.Query(b, t, h) + i];
      dqkv[layout.Value(b, u, h) + i] += p[u] * dout[layout.Out(b, t, h) + i];
    }
  }
}

}  // namespace

AttentionResult AttentionForward(const ops::AttentionShape& shape, const Values& qkv) {
  const QkvLayout layout(shape);
  AttentionResult result{Values(shape.batch * shape.sequence * shape.heads * shape.head_size),
                         Values(shape.batch * shape.heads * shape.sequence)};
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      for (int64_t t = 0; t < shape.sequence; ++t) {
        const Softmax softmax = Probabilities(layout, qkv, b, h, t);
        result.lse_BHT[(b * shape.heads + h) * shape.sequence + t] = softmax.lse;
        for (int64_t u = 0; u <= t; ++u) {
          for (int64_t i = 0; i < shape.head_size; ++i) {
            result.out_RHD[layout.Out(b, t, h) + i] += softmax.p[u] * qkv[layout.Value(b, u, h) + i];
          }
        }
      }
    }
  }
  return result;
}

Values AttentionBackwardInput(const ops::AttentionShape& shape, const Values& qkv, const Values& dout_RHD) {
  Values dqkv(qkv.size());
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      for (int64_t t = 0; t < shape.sequence; ++t) {
        BackwardQuery(QkvLayout(shape), qkv, dout_RHD, b, h, t, dqkv);
      }
    }
  }
  return dqkv;
}

Values SwigluForward(const ops::SwigluShape& shape, const Values& gate_up_R2C) {
  Values y(shape.rows * shape.channels);
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      const double gate = gate_up_R2C[r * 2 * shape.channels + c];
      y[r * shape.channels + c] = gate * Sigmoid(gate) * gate_up_R2C[(r * 2 + 1) * shape.channels + c];
    }
  }
  return y;
}

Values SwigluBackwardInput(const ops::SwigluShape& shape, const Values& gate_up_R2C, const Values& dy_RC) {
  Values dgate_up(gate_up_R2C.size());
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t at_gate = r * 2 * shape.channels + c, at_up = at_gate + shape.channels;
      const double gate = gate_up_R2C[at_gate], s = Sigmoid(gate), dy = dy_RC[r * shape.channels + c];
      dgate_up[at_gate] = dy * gate_up_R2C[at_up] * s * (1 + gate * (1 - s));
      dgate_up[at_up] = dy * gate * s;
    }
  }
  return dgate_up;
}

namespace {

double LogSumExp(const ops::CrossEntropyShape& shape, const Values& logits, int64_t r) {
  const double* z = logits.data() + r * shape.vocab;
  const double largest = *std::max_element(z, z + shape.vocab);
  double sum = 0;
  for (int64_t v = 0; v < shape.vocab; ++v) sum += std::exp(z[v] - largest);
  return largest + std::log(sum);
}

}  // namespace

double CrossEntropyForward(const ops::CrossEntropyShape& shape, const Tokens& target,
                           const Values& logits_RV) {
  double loss = 0;
  for (int64_t r = 0; r < shape.rows; ++r) {
    loss += LogSumExp(shape, logits_RV, r) - logits_RV[r * shape.vocab + target[r]];
  }
  return loss;
}

Values CrossEntropyBackwardInput(const ops::CrossEntropyShape& shape, const Tokens& target,
                                 const Values& logits_RV, double scale) {
  Values dlogits(logits_RV.size());
  for (int64_t r = 0; r < shape.rows; ++r) {
    const double lse = LogSumExp(shape, logits_RV, r);
    for (int64_t v = 0; v < shape.vocab; ++v) {
      const double p = std::exp(logits_RV[r * shape.vocab + v] - lse);
      dlogits[r * shape.vocab + v] = (p - (v == target[r] ? 1 : 0)) * scale;
    }
  }
  return dlogits;
}

AdamwState Adamw(const ops::AdamwSettings& settings, const Values& gradient, AdamwState state) {
  const auto step = static_cast<double>(settings.step);
  const double correction1 = 1 - std::pow(settings.beta1, step);
  const double correction2 = 1 - std::pow(settings.beta2, step);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double g = gradient[i] * settings.gradient_scale;
    double& weight = state.weight[i];
    double &m = state.m[i], &v = state.v[i];
    weight -= settings.learning_rate * settings.weight_decay * weight;
    m = settings.beta1 * m + (1 - settings.beta1) * g;
    v = settings.beta2 * v + (1 - settings.beta2) * g * g;
    weight -= settings.learning_rate / correction1 * m / (std::sqrt(v / correction2) + settings.epsilon);
  }
  return state;
}

}  // namespace traind::reference
