// Builds the parameter table of each family, and the same layout without names.
#include "engine/plan/parameters.h"

#include <utility>

#include "engine/plan/saturating.h"

namespace traind::plan {
namespace {

// Appends rows to the table in flat order.
class Appender {
 public:
  void Matrix(std::string name, int64_t layer, int64_t rows, int64_t columns,
              Initializer initializer = Initializer::kNormal) {
    Append({std::move(name), {rows, columns}, 0, rows * columns, layer, true, initializer});
  }
  void Vector(std::string name, int64_t layer, int64_t width, Initializer initializer) {
    Append({std::move(name), {width}, 0, width, layer, false, initializer});
  }
  std::vector<Parameter> Take() { return std::move(table_); }

 private:
  void Append(Parameter parameter) {
    parameter.offset = next_;
    next_ += parameter.elements;
    table_.push_back(std::move(parameter));
  }
  int64_t next_ = 0;
  std::vector<Parameter> table_;
};

void AppendRotaryLayer(const ModelSpec& model, int64_t layer, Appender* append) {
  const int64_t hidden = model.hidden_size;
  const int64_t query = model.num_attention_heads * model.head_size();
  const int64_t key_value = model.num_key_value_heads * model.head_size();
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  append->Vector(prefix + "input_layernorm.weight", layer, hidden, Initializer::kOnes);
  append->Matrix(prefix + "self_attn.q_proj.weight", layer, query, hidden);
  append->Matrix(prefix + "self_attn.k_proj.weight", layer, key_value, hidden);
  append->Matrix(prefix + "self_attn.v_proj.weight", layer, key_value, hidden);
  if (model.traits().qkv_bias) {
    append->Vector(prefix + "self_attn.q_proj.bias", layer, query, Initializer::kZeros);
    append->Vector(prefix + "self_attn.k_proj.bias", layer, key_value, Initializer::kZeros);
    append->Vector(prefix + "self_attn.v_proj.bias", layer, key_value, Initializer::kZeros);
  }
  append->Matrix(prefix + "self_attn.o_proj.weight", layer, hidden, query);
  append->Vector(prefix + "post_attention_layernorm.weight", layer, hidden, Initializer::kOnes);
  append->Matrix(prefix + "mlp.gate_proj.weight", layer, model.intermediate_size, hidden);
  append->Matrix(prefix + "mlp.up_proj.weight", layer, model.intermediate_size, hidden);
  append->Matrix(prefix + "mlp.down_proj.weight", layer, hidden, model.intermediate_size);
}

std::vector<Parameter> RotaryTable(const ModelSpec& model) {
  Appender append;
  append.Matrix("model.embed_tokens.weight", -1, model.vocab_size, model.hidden_size);
  for (int64_t layer = 0; layer < model.num_hidden_layers; ++layer) AppendRotaryLayer(model, layer, &append);
  append.Vector("model.norm.weight", -1, model.hidden_size, Initializer::kOnes);
  if (!model.tie_word_embeddings) append.Matrix("lm_head.weight", -1, model.vocab_size, model.hidden_size);
  return append.Take();
}

void AppendLayerNorm(const std::string& name, int64_t layer, int64_t width, Appender* append) {
  append->Vector(name + ".weight", layer, width, Initializer::kOnes);
  append->Vector(name + ".bias", layer, width, Initializer::kZeros);
}

std::vector<Parameter> Gpt2Table(const ModelSpec& model) {
  const int64_t hidden = model.hidden_size, wide = model.intermediate_size;
  Appender append;
  // Hugging Face's Conv1D.
  const auto linear = [&append](const std::string& name, int64_t layer, int64_t inputs, int64_t outputs,
                                Initializer initializer) {
    append.Matrix(name + ".weight", layer, inputs, outputs, initializer);
    append.Vector(name + ".bias", layer, outputs, Initializer::kZeros);
  };
  append.Matrix("transformer.wte.weight", -1, model.vocab_size, hidden);
  append.Matrix("transformer.wpe.weight", -1, model.max_position_embeddings, hidden);
  for (int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    const std::string prefix = "transformer.h." + std::to_string(layer) + ".";
    AppendLayerNorm(prefix + "ln_1", layer, hidden, &append);
    linear(prefix + "attn.c_attn", layer, hidden, 3 * hidden, Initializer::kNormal);
    linear(prefix + "attn.c_proj", layer, hidden, hidden, Initializer::kNormalResidual);
    AppendLayerNorm(prefix + "ln_2", layer, hidden, &append);
    linear(prefix + "mlp.c_fc", layer, hidden, wide, Initializer::kNormal);
    linear(prefix + "mlp.c_proj", layer, wide, hidden, Initializer::kNormalResidual);
  }
  AppendLayerNorm("transformer.ln_f", -1, hidden, &append);
  if (!model.tie_word_embeddings) append.Matrix("lm_head.weight", -1, model.vocab_size, hidden);
  return append.Take();
}

// Lays tensors one behind the other, counting elements.
class FlatOrder {
 public:
  int64_t Take(int64_t elements) { return std::exchange(next_, SaturatingAdd(next_, elements)); }
  Affine Norm(int64_t width, bool bias) { return Pair(width, width, bias); }
  Affine Linear(int64_t inputs, int64_t outputs, bool bias) {
    return Pair(SaturatingMultiply(inputs, outputs), outputs, bias);
  }
  int64_t next() const { return next_; }

 private:
  Affine Pair(int64_t weights, int64_t biases, bool bias) {
    Affine pair;
    pair.weight = Take(weights);
    if (bias) pair.bias = Take(biases);
    return pair;
  }
  int64_t next_ = 0;
};

}  // namespace

std::vector<Parameter> ParameterTable(const ModelSpec& model) {
  return model.traits().learned_positions ? Gpt2Table(model) : RotaryTable(model);
}

const Parameter* FindParameter(const std::vector<Parameter>& table, std::string_view name) {
  for (const Parameter& parameter : table) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

ModelLayout LayoutOf(const ModelSpec& model) {
  const ArchitectureTraits& traits = model.traits();
  const int64_t hidden = model.hidden_size, wide = model.intermediate_size;
  const int64_t query = SaturatingMultiply(model.num_attention_heads, model.head_size());
  const int64_t key_value = SaturatingMultiply(model.num_key_value_heads, model.head_size());
  ModelLayout layout;
  FlatOrder layer;
  layout.input_norm = layer.Norm(hidden, traits.layer_norm);
  layout.query_key_value =
      layer.Linear(hidden, SaturatingAdd(query, SaturatingMultiply(2, key_value)), traits.qkv_bias);
  layout.attention_output = layer.Linear(query, hidden, traits.linear_bias);
  layout.middle_norm = layer.Norm(hidden, traits.layer_norm);
  layout.widening =
      layer.Linear(hidden, traits.gelu ? wide : SaturatingMultiply(2, wide), traits.linear_bias);
  layout.narrowing = layer.Linear(wide, hidden, traits.linear_bias);
  layout.layer_stride = layer.next();
  FlatOrder whole;
  layout.token_table = whole.Take(SaturatingMultiply(model.vocab_size, hidden));
  if (traits.learned_positions) {
    layout.position_table = whole.Take(SaturatingMultiply(model.max_position_embeddings, hidden));
  }
  layout.layers = whole.Take(SaturatingMultiply(layout.layer_stride, model.num_hidden_layers));
  layout.final_norm = whole.Norm(hidden, traits.layer_norm);
  layout.head = model.tie_word_embeddings ? layout.token_table
                                          : whole.Take(SaturatingMultiply(model.vocab_size, hidden));
  layout.total = whole.next();
  return layout;
}

}  // namespace traind::plan
