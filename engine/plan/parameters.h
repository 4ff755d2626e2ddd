// The parameter table: every trainable tensor of a model by its Hugging Face name, in one canonical flat
// order.
//
// llama, qwen2: embed_tokens, per layer input_layernorm, q, k, v (then their biases in the same order),
// o_proj, post_attention_layernorm, gate, up, down_proj, then norm and lm_head (absent when tied). The rows
// of q, k and v lie together and act as one matrix, as do those of gate and up.
//
// gpt2: wte, wpe, per layer ln_1, attn.c_attn, attn.c_proj, ln_2, mlp.c_fc, mlp.c_proj, then ln_f and lm_head
// (absent when tied), the bias of each behind its weight. Hugging Face stores the four matrices of a layer as
// (input, output), the other way round than a Linear's, and so do we: files are the flat order's bytes in
// every family, and the matrix products take either order.
//
// There is no padding between tensors. Gradients and both moments have the same order, and checkpoints list
// their ranges in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/spec/model.h"

namespace traind::plan {

enum class Initializer {
  kNormal,          // mean 0, standard deviation initializer_range
  kNormalResidual,  // as kNormal, divided by sqrt(2·layers): gpt2's matrices that end in the residual stream
  kOnes,
  kZeros,
};

struct Parameter {
  std::string name;            // "model.layers.0.self_attn.q_proj.weight"
  std::vector<int64_t> shape;  // as Hugging Face stores it: two dimensions for a matrix, else {width}
  int64_t offset = 0;          // elements from the start of the flat order
  int64_t elements = 0;
  int64_t layer = -1;  // -1 outside the layers
  bool decays = true;  // weight decay: on matrices only, not on norms and biases
  Initializer initializer = Initializer::kNormal;
};

// The table of a validated model.
std::vector<Parameter> ParameterTable(const ModelSpec& model);

// The row of that name, or nullptr.
const Parameter* FindParameter(const std::vector<Parameter>& table, std::string_view name);

// A weight and the bias that belongs to it: where they begin, in elements.
struct Affine {
  int64_t weight = 0;
  int64_t bias = -1;  // -1: it has none
};

// Where a model's tensors begin in the flat order, in elements, without building the table.
struct ModelLayout {
  int64_t token_table = 0;
  int64_t position_table = -1;  // -1: positions are rotary
  int64_t layers = 0;           // of layer 0
  int64_t layer_stride = 0;     // from one layer to the next
  Affine final_norm;
  int64_t head = 0;  // equals token_table when tied
  int64_t total = 0;
  // Within a layer.
  Affine input_norm;
  Affine query_key_value;  // (heads + 2·kv_heads)·head_size outputs of hidden_size
  Affine attention_output;
  Affine middle_norm;
  Affine widening;   // gate and up: 2·intermediate_size outputs of hidden_size; or c_fc: intermediate_size
  Affine narrowing;  // down_proj or c_proj
};
ModelLayout LayoutOf(const ModelSpec& model);  // saturated where sizes overflow

}  // namespace traind::plan
