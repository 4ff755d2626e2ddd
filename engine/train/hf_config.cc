// Writes config.json.
#include "engine/train/hf_config.h"

#include "engine/base/json.h"

namespace traind::train {
namespace {

constexpr std::string_view ClassOf(Architecture architecture) {
  switch (architecture) {
    case Architecture::kGpt2:
      return "GPT2LMHeadModel";
    case Architecture::kQwen2:
      return "Qwen2ForCausalLM";
    case Architecture::kLlama:
      break;
  }
  return "LlamaForCausalLM";
}

// null without scaling. transformers takes the same object beside rope_theta in its versions 4 and 5.
OrderedJson RopeScalingJson(const ModelSpec& model) {
  if (model.rope_scaling == RopeScaling::kNone) return nullptr;
  OrderedJson scaling;
  scaling["rope_type"] = RopeScalingName(model.rope_scaling);
  scaling["factor"] = model.rope_scaling_factor;
  if (model.rope_scaling == RopeScaling::kLlama3) {
    scaling["low_freq_factor"] = model.rope_low_freq_factor;
    scaling["high_freq_factor"] = model.rope_high_freq_factor;
    scaling["original_max_position_embeddings"] = model.rope_original_max_position_embeddings;
  }
  return scaling;
}

void WriteRotary(const ModelSpec& model, OrderedJson* config) {
  (*config)["hidden_size"] = model.hidden_size;
  (*config)["intermediate_size"] = model.intermediate_size;
  (*config)["num_hidden_layers"] = model.num_hidden_layers;
  (*config)["num_attention_heads"] = model.num_attention_heads;
  (*config)["num_key_value_heads"] = model.num_key_value_heads;
  (*config)["head_dim"] = model.head_size();
  (*config)["hidden_act"] = "silu";
  (*config)["max_position_embeddings"] = model.max_position_embeddings;
  (*config)["initializer_range"] = model.initializer_range;
  (*config)["rms_norm_eps"] = model.rms_norm_eps;
  (*config)["rope_theta"] = model.rope_theta;
  (*config)["rope_scaling"] = RopeScalingJson(model);
  (*config)["attention_dropout"] = 0.0;
  if (model.architecture == Architecture::kQwen2) {
    (*config)["use_sliding_window"] = false;
    (*config)["sliding_window"] = nullptr;
  } else {
    (*config)["attention_bias"] = false;
    (*config)["mlp_bias"] = false;
    (*config)["pretraining_tp"] = 1;
  }
}

void WriteGpt2(const ModelSpec& model, OrderedJson* config) {
  (*config)["n_embd"] = model.hidden_size;
  (*config)["n_inner"] = model.intermediate_size;
  (*config)["n_layer"] = model.num_hidden_layers;
  (*config)["n_head"] = model.num_attention_heads;
  (*config)["n_positions"] = model.max_position_embeddings;
  (*config)["n_ctx"] = model.max_position_embeddings;
  (*config)["activation_function"] = "gelu_new";
  (*config)["layer_norm_epsilon"] = model.layer_norm_epsilon;
  (*config)["initializer_range"] = model.initializer_range;
  (*config)["scale_attn_weights"] = true;
  (*config)["scale_attn_by_inverse_layer_idx"] = false;
  (*config)["reorder_and_upcast_attn"] = false;
  (*config)["add_cross_attention"] = false;
  (*config)["resid_pdrop"] = 0.0;
  (*config)["embd_pdrop"] = 0.0;
  (*config)["attn_pdrop"] = 0.0;
}

}  // namespace

std::string HuggingFaceConfig(const ModelSpec& model) {
  OrderedJson config;
  config["architectures"] = {ClassOf(model.architecture)};
  config["model_type"] = ArchitectureName(model.architecture);
  config["vocab_size"] = model.vocab_size;
  if (model.architecture == Architecture::kGpt2) {
    WriteGpt2(model, &config);
  } else {
    WriteRotary(model, &config);
  }
  config["tie_word_embeddings"] = model.tie_word_embeddings;
  config["bos_token_id"] = model.end_of_text;
  config["eos_token_id"] = model.end_of_text;
  config["pad_token_id"] = nullptr;
  config["use_cache"] = true;
  config["torch_dtype"] = "float32";
  config["tokenizer"] = model.tokenizer;
  return DumpJson(config, 2) + "\n";
}

}  // namespace traind::train
