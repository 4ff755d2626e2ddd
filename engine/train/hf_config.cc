// Writes config.json.
#include "engine/train/hf_config.h"

#include "engine/base/json.h"

namespace traind::train {

std::string HuggingFaceConfig(const ModelSpec& model) {
  OrderedJson config;
  config["architectures"] = {"LlamaForCausalLM"};
  config["model_type"] = ArchitectureName(model.architecture);
  config["vocab_size"] = model.vocab_size;
  config["hidden_size"] = model.hidden_size;
  config["intermediate_size"] = model.intermediate_size;
  config["num_hidden_layers"] = model.num_hidden_layers;
  config["num_attention_heads"] = model.num_attention_heads;
  config["num_key_value_heads"] = model.num_key_value_heads;
  config["head_dim"] = model.head_size();
  config["hidden_act"] = "silu";
  config["max_position_embeddings"] = model.max_position_embeddings;
  config["initializer_range"] = model.initializer_range;
  config["rms_norm_eps"] = model.rms_norm_eps;
  config["rope_theta"] = model.rope_theta;
  config["rope_scaling"] = nullptr;
  config["attention_bias"] = false;
  config["attention_dropout"] = 0.0;
  config["mlp_bias"] = false;
  config["pretraining_tp"] = 1;
  config["tie_word_embeddings"] = model.tie_word_embeddings;
  config["bos_token_id"] = 0;
  config["eos_token_id"] = 0;
  config["pad_token_id"] = nullptr;
  config["use_cache"] = true;
  config["torch_dtype"] = "float32";
  config["tokenizer"] = model.tokenizer;
  return DumpJson(config, 2) + "\n";
}

}  // namespace traind::train
