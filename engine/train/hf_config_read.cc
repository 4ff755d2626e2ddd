// Reads config.json.
#include <initializer_list>

#include "engine/base/json.h"
#include "engine/spec/names.h"
#include "engine/train/hf_config.h"

namespace traind::train {
namespace {

struct IntegerField {
  const char* key;
  int64_t ModelSpec::*value;
};
constexpr IntegerField kRotarySizes[] = {
    {"vocab_size", &ModelSpec::vocab_size},
    {"hidden_size", &ModelSpec::hidden_size},
    {"intermediate_size", &ModelSpec::intermediate_size},
    {"num_hidden_layers", &ModelSpec::num_hidden_layers},
    {"num_attention_heads", &ModelSpec::num_attention_heads},
    {"max_position_embeddings", &ModelSpec::max_position_embeddings},
};
constexpr IntegerField kGpt2Sizes[] = {
    {"vocab_size", &ModelSpec::vocab_size},
    {"n_embd", &ModelSpec::hidden_size},
    {"n_layer", &ModelSpec::num_hidden_layers},
    {"n_head", &ModelSpec::num_attention_heads},
    {"n_positions", &ModelSpec::max_position_embeddings},
};

// Reads fields of one file; its errors name file and field.
class Reader {
 public:
  Reader(const Json& object, const std::string& name) : object_(object), name_(name) {}

  bool Has(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() && !found->is_null();
  }
  Reader Object(const char* key) const { return {object_.at(key), name_}; }
  bool is_object() const { return object_.is_object(); }

  Status Refuse(const char* key, const std::string& why) const {
    return spec::InvalidOption(key, name_ + ": " + key + " " + why);
  }
  Result<int64_t> Integer(const char* key) const {
    if (!Has(key)) return Refuse(key, "is missing");
    return Named(GetInt(object_, key));
  }
  Result<int64_t> Integer(const char* key, int64_t otherwise) const {
    if (!Has(key)) return otherwise;
    return Named(GetInt(object_, key));
  }
  Result<double> Real(const char* key, double otherwise) const {
    if (!Has(key)) return otherwise;
    return Named(GetDouble(object_, key));
  }
  Result<bool> Boolean(const char* key, bool otherwise) const {
    if (!Has(key)) return otherwise;
    return Named(GetBool(object_, key));
  }
  Result<std::string> Text(const char* key, const std::string& otherwise) const {
    if (!Has(key)) return otherwise;
    return Named(GetString(object_, key));
  }

  // A switch that must be off, or on.
  Status Must(const char* key, bool wanted, bool otherwise) const {
    TRAIND_ASSIGN(const bool is, Boolean(key, otherwise));
    if (is == wanted) return Ok();
    return Refuse(key, std::string("is ") + (is ? "true" : "false") + ", which is not supported");
  }

 private:
  template <typename T>
  Result<T> Named(Result<T> result) const {
    if (result.ok()) return result;
    return Status(result.status().code(), name_ + ": " + result.status().message());
  }

  const Json& object_;
  const std::string& name_;
};

Status CheckActivation(const Reader& config, const char* key, const char* otherwise,
                       std::initializer_list<std::string_view> known) {
  TRAIND_ASSIGN(const std::string activation, config.Text(key, otherwise));
  for (const std::string_view name : known) {
    if (activation == name) return Ok();
  }
  return config.Refuse(key, "is '" + activation + "'; supported is '" + std::string(*known.begin()) + "'");
}

// rope_theta and rope_scaling, or both in rope_parameters (transformers 5).
Status ReadRope(const Reader& config, ModelSpec* model) {
  TRAIND_ASSIGN(model->rope_theta, config.Real("rope_theta", 10000));
  const char* key = config.Has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!config.Has(key)) return Ok();
  const Reader rope = config.Object(key);
  if (!rope.is_object()) return config.Refuse(key, "is no object");
  TRAIND_ASSIGN(model->rope_theta, rope.Real("rope_theta", model->rope_theta));
  TRAIND_ASSIGN(const std::string old_type, rope.Text("type", "default"));
  TRAIND_ASSIGN(const std::string type, rope.Text("rope_type", old_type));
  if (type == "default") return Ok();
  auto scaling = ParseRopeScaling(type);
  if (!scaling.ok() || *scaling == RopeScaling::kNone) {
    return config.Refuse(key, "is of type '" + type + "'; supported are default, linear and llama3");
  }
  model->rope_scaling = *scaling;
  TRAIND_ASSIGN(model->rope_scaling_factor, rope.Real("factor", 0));
  if (*scaling == RopeScaling::kLinear) return Ok();
  TRAIND_ASSIGN(model->rope_low_freq_factor, rope.Real("low_freq_factor", 0));
  TRAIND_ASSIGN(model->rope_high_freq_factor, rope.Real("high_freq_factor", 0));
  TRAIND_ASSIGN(model->rope_original_max_position_embeddings,
                rope.Integer("original_max_position_embeddings", model->max_position_embeddings));
  return Ok();
}

// A window that nothing switches off is one.
Status CheckWindow(const Reader& config) {
  TRAIND_TRY(config.Must("use_sliding_window", false, false));
  if (config.Has("use_sliding_window") || !config.Has("sliding_window")) return Ok();
  return config.Refuse("sliding_window", "is given, which is not supported");
}

Status CheckBiases(const Reader& config) {
  TRAIND_TRY(config.Must("attention_bias", false, false));
  return config.Must("mlp_bias", false, false);
}

Status ReadRotary(const Reader& config, ModelSpec* model) {
  for (const IntegerField& field : kRotarySizes) {
    TRAIND_ASSIGN(model->*field.value, config.Integer(field.key));
  }
  TRAIND_ASSIGN(model->num_key_value_heads,
                config.Integer("num_key_value_heads", model->num_attention_heads));
  TRAIND_ASSIGN(model->rms_norm_eps, config.Real("rms_norm_eps", 1e-6));
  TRAIND_TRY(CheckActivation(config, "hidden_act", "silu", {"silu", "swish"}));
  TRAIND_TRY(ReadRope(config, model));
  TRAIND_TRY(CheckWindow(config));
  if (model->architecture != Architecture::kQwen2) TRAIND_TRY(CheckBiases(config));
  if (!config.Has("head_dim") || model->num_attention_heads < 1) return Ok();
  TRAIND_ASSIGN(const int64_t head_size, config.Integer("head_dim"));
  if (head_size * model->num_attention_heads == model->hidden_size) return Ok();
  return config.Refuse(
      "head_dim", "is " + std::to_string(head_size) + "; supported is hidden_size / num_attention_heads");
}

Status ReadGpt2(const Reader& config, ModelSpec* model) {
  for (const IntegerField& field : kGpt2Sizes) {
    TRAIND_ASSIGN(model->*field.value, config.Integer(field.key));
  }
  model->num_key_value_heads = model->num_attention_heads;
  TRAIND_ASSIGN(model->intermediate_size, config.Integer("n_inner", 4 * model->hidden_size));
  TRAIND_ASSIGN(model->layer_norm_epsilon, config.Real("layer_norm_epsilon", 1e-5));
  TRAIND_TRY(CheckActivation(config, "activation_function", "gelu_new", {"gelu_new", "gelu_pytorch_tanh"}));
  TRAIND_TRY(config.Must("scale_attn_weights", true, true));
  TRAIND_TRY(config.Must("scale_attn_by_inverse_layer_idx", false, false));
  return config.Must("add_cross_attention", false, false);
}

}  // namespace

Result<ModelSpec> ModelFromHuggingFaceConfig(std::string_view text, const std::string& name) {
  const auto parsed = ParseJson(text);
  if (!parsed.ok()) return Status(parsed.status().code(), name + ": " + parsed.status().message());
  const Reader config(*parsed, name);
  if (!config.is_object()) return Status(ErrorCode::MALFORMED_FRAME, name + ": no JSON object");
  ModelSpec model;
  TRAIND_ASSIGN(const std::string type, config.Text("model_type", ""));
  auto architecture = ParseArchitecture(type);
  if (!architecture.ok()) {
    return Status(ErrorCode::UNKNOWN_ARCHITECTURE, name + ": model_type '" + type + "' is not supported",
                  architecture.status().hint());
  }
  model.architecture = *architecture;
  if (config.Has("quantization_config")) {
    return config.Refuse("quantization_config", "is given; quantized weights are not supported");
  }
  TRAIND_TRY(model.architecture == Architecture::kGpt2 ? ReadGpt2(config, &model)
                                                       : ReadRotary(config, &model));
  TRAIND_ASSIGN(model.initializer_range, config.Real("initializer_range", 0.02));
  TRAIND_ASSIGN(model.tie_word_embeddings,
                config.Boolean("tie_word_embeddings", model.architecture == Architecture::kGpt2));
  TRAIND_ASSIGN(model.tokenizer, config.Text("tokenizer", "bytes"));
  TRAIND_TRY(ValidateModel(model));
  return model;
}

}  // namespace traind::train
