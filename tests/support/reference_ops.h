// The operators' definitions, in fp64 and plain loops: what every backend is held to.
//
// Same shapes and meaning as engine/ops/<op>.h, but nothing is fused, tiled, in place or accumulated: each
// function returns its result. Their gradients are held to finite differences (reference_ops_test.cc).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/adamw.h"
#include "engine/ops/attention.h"
#include "engine/ops/bias.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/embedding.h"
#include "engine/ops/gelu.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/linear.h"
#include "engine/ops/position.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/rope.h"
#include "engine/ops/swiglu.h"

namespace traind::reference {

using Values = std::vector<double>;
using Tokens = std::vector<int32_t>;

Values EmbeddingForward(const ops::EmbeddingShape& shape, const Tokens& token, const Values& weight_VC);
Values EmbeddingBackwardWeight(const ops::EmbeddingShape& shape, const Tokens& token, const Values& dy_RC);

Values PositionForward(const ops::PositionShape& shape, const Values& weight_PC, const Values& x_BTC);
Values PositionBackwardWeight(const ops::PositionShape& shape, const Values& dx_BTC);

struct LayerNormResult {
  Values y_RC, statistic_R2;
};
LayerNormResult LayerNormForward(const ops::LayerNormShape& shape, const Values& x_RC, const Values& weight_C,
                                 const Values& bias_C);
Values LayerNormBackwardInput(const ops::LayerNormShape& shape, const Values& x_RC, const Values& weight_C,
                              const Values& dy_RC);
struct LayerNormGradients {
  Values weight_C, bias_C;
};
LayerNormGradients LayerNormBackwardWeight(const ops::LayerNormShape& shape, const Values& x_RC,
                                           const Values& dy_RC);

Values BiasForward(const ops::BiasShape& shape, const Values& bias_C, const Values& y_RC);
Values BiasBackwardWeight(const ops::BiasShape& shape, const Values& dy_RC);

Values GeluForward(const Values& x);
Values GeluBackwardInput(const Values& x, const Values& dy);

struct RmsNormResult {
  Values y_RC, rstd_R;
};
RmsNormResult RmsNormForward(const ops::RmsNormShape& shape, const Values& x_RC, const Values& weight_C);
Values RmsNormBackwardInput(const ops::RmsNormShape& shape, const Values& x_RC, const Values& weight_C,
                            const Values& dy_RC);
Values RmsNormBackwardWeight(const ops::RmsNormShape& shape, const Values& x_RC, const Values& dy_RC);

// The weight lies as the shape says.
Values LinearForward(const ops::LinearShape& shape, const Values& x_RI, const Values& weight_OI);
Values LinearBackwardInput(const ops::LinearShape& shape, const Values& dy_RO, const Values& weight_OI);
Values LinearBackwardWeight(const ops::LinearShape& shape, const Values& dy_RO, const Values& x_RI);

// direction 1 rotates as the forward pass does, −1 back. Angles are exact here, not rounded to fp32.
Values Rope(const ops::RopeShape& shape, double theta, double direction, const Values& qkv);

struct AttentionResult {
  Values out_RHD, lse_BHT;
};
AttentionResult AttentionForward(const ops::AttentionShape& shape, const Values& qkv);
Values AttentionBackwardInput(const ops::AttentionShape& shape, const Values& qkv, const Values& dout_RHD);

Values SwigluForward(const ops::SwigluShape& shape, const Values& gate_up_R2C);
Values SwigluBackwardInput(const ops::SwigluShape& shape, const Values& gate_up_R2C, const Values& dy_RC);

double CrossEntropyForward(const ops::CrossEntropyShape& shape, const Tokens& target,
                           const Values& logits_RV);
Values CrossEntropyBackwardInput(const ops::CrossEntropyShape& shape, const Tokens& target,
                                 const Values& logits_RV, double scale);

struct AdamwState {
  Values weight, m, v;
};
AdamwState Adamw(const ops::AdamwSettings& settings, const Values& gradient, AdamwState state);

}  // namespace traind::reference
