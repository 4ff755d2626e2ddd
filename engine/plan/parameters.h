// The parameter table: every trainable tensor of a model by its Hugging Face name, in one canonical flat
// order.
//
// The order is that of Hugging Face's modules: embed_tokens, per layer input_layernorm, q, k, v, o_proj,
// post_attention_layernorm, gate, up, down_proj, then norm and lm_head (absent when tied). There is no
// padding between tensors, so the rows of q, k and v lie together and act as one matrix, as do those of gate
// and up. Gradients and both moments have the same order, and checkpoints list their ranges in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/spec/model.h"

namespace traind::plan {

enum class Initializer {
  kNormal,  // mean 0, standard deviation initializer_range
  kOnes,
};

struct Parameter {
  std::string name;            // "model.layers.0.self_attn.q_proj.weight"
  std::vector<int64_t> shape;  // {rows, columns} as Hugging Face stores it, or {width}
  int64_t offset = 0;          // elements from the start of the flat order
  int64_t elements = 0;
  int64_t layer = -1;  // -1 outside the layers
  bool decays = true;  // weight decay: not on norms
  Initializer initializer = Initializer::kNormal;
};

// The table of a validated model.
std::vector<Parameter> ParameterTable(const ModelSpec& model);

// The row of that name, or nullptr.
const Parameter* FindParameter(const std::vector<Parameter>& table, std::string_view name);

// Where a layer's tensors begin in the flat order, in elements, without building the table.
struct LlamaLayout {
  int64_t embed_tokens = 0;
  int64_t layers = 0;        // of layer 0
  int64_t layer_stride = 0;  // from one layer to the next
  int64_t norm = 0;
  int64_t lm_head = 0;  // equals embed_tokens when tied
  int64_t total = 0;
  // Within a layer.
  int64_t input_layernorm = 0;
  int64_t query_key_value = 0;  // q, k and v: (heads + 2·kv_heads)·head_size rows of hidden_size
  int64_t o_proj = 0;
  int64_t post_attention_layernorm = 0;
  int64_t gate_up = 0;  // gate and up: 2·intermediate_size rows of hidden_size
  int64_t down_proj = 0;
};
LlamaLayout LayoutOf(const ModelSpec& model);  // saturated where sizes overflow

}  // namespace traind::plan
