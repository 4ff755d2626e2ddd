// Builds the parameter table of the llama family.
#include "engine/plan/parameters.h"

#include "engine/plan/saturating.h"

namespace traind::plan {
namespace {

// Appends rows to the table in flat order.
class Appender {
 public:
  void Matrix(std::string name, int64_t layer, int64_t rows, int64_t columns) {
    Append({std::move(name), {rows, columns}, 0, rows * columns, layer, true, Initializer::kNormal});
  }
  void Norm(std::string name, int64_t layer, int64_t width) {
    Append({std::move(name), {width}, 0, width, layer, false, Initializer::kOnes});
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

}  // namespace

std::vector<Parameter> ParameterTable(const ModelSpec& model) {
  const int64_t hidden = model.hidden_size;
  const int64_t query = model.num_attention_heads * model.head_size();
  const int64_t key_value = model.num_key_value_heads * model.head_size();
  Appender append;
  append.Matrix("model.embed_tokens.weight", -1, model.vocab_size, hidden);
  for (int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    append.Norm(prefix + "input_layernorm.weight", layer, hidden);
    append.Matrix(prefix + "self_attn.q_proj.weight", layer, query, hidden);
    append.Matrix(prefix + "self_attn.k_proj.weight", layer, key_value, hidden);
    append.Matrix(prefix + "self_attn.v_proj.weight", layer, key_value, hidden);
    append.Matrix(prefix + "self_attn.o_proj.weight", layer, hidden, query);
    append.Norm(prefix + "post_attention_layernorm.weight", layer, hidden);
    append.Matrix(prefix + "mlp.gate_proj.weight", layer, model.intermediate_size, hidden);
    append.Matrix(prefix + "mlp.up_proj.weight", layer, model.intermediate_size, hidden);
    append.Matrix(prefix + "mlp.down_proj.weight", layer, hidden, model.intermediate_size);
  }
  append.Norm("model.norm.weight", -1, hidden);
  if (!model.tie_word_embeddings) append.Matrix("lm_head.weight", -1, model.vocab_size, hidden);
  return append.Take();
}

const Parameter* FindParameter(const std::vector<Parameter>& table, std::string_view name) {
  for (const Parameter& parameter : table) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

LlamaLayout LayoutOf(const ModelSpec& model) {
  const int64_t hidden = model.hidden_size;
  const int64_t query = SaturatingMultiply(model.num_attention_heads, model.head_size());
  const int64_t key_value = SaturatingMultiply(model.num_key_value_heads, model.head_size());
  const int64_t vocabulary = SaturatingMultiply(model.vocab_size, hidden);
  LlamaLayout layout;
  layout.input_layernorm = 0;
  layout.query_key_value = hidden;
  layout.o_proj =
      SaturatingAdd(layout.query_key_value,
                    SaturatingMultiply(SaturatingAdd(query, SaturatingMultiply(2, key_value)), hidden));
  layout.post_attention_layernorm = SaturatingAdd(layout.o_proj, SaturatingMultiply(hidden, query));
  layout.gate_up = SaturatingAdd(layout.post_attention_layernorm, hidden);
  layout.down_proj = SaturatingAdd(layout.gate_up, Product({2, model.intermediate_size, hidden}));
  layout.layer_stride = SaturatingAdd(layout.down_proj, SaturatingMultiply(hidden, model.intermediate_size));
  layout.layers = vocabulary;
  layout.norm =
      SaturatingAdd(layout.layers, SaturatingMultiply(layout.layer_stride, model.num_hidden_layers));
  layout.total = SaturatingAdd(layout.norm, hidden);
  layout.lm_head = layout.embed_tokens;
  if (!model.tie_word_embeddings) {
    layout.lm_head = layout.total;
    layout.total = SaturatingAdd(layout.total, vocabulary);
  }
  return layout;
}

}  // namespace traind::plan
