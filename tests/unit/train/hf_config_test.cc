// config.json of every family: what is written, what is read, what is refused.
#include "engine/train/hf_config.h"

#include <vector>

#include "engine/base/json.h"
#include "tests/support/test.h"

namespace traind::train {
namespace {

ModelSpec Tiny(Architecture architecture) {
  ModelSpec model;
  model.architecture = architecture;
  model.hidden_size = 64;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 4;
  model.num_key_value_heads = model.traits().grouped_queries ? 2 : 4;
  model.intermediate_size = 192;
  model.max_position_embeddings = 128;
  return model;
}

// One of each kind, with values that are nobody's default.
std::vector<ModelSpec> Various() {
  ModelSpec gpt2 = Tiny(Architecture::kGpt2), llama = Tiny(Architecture::kLlama),
            qwen2 = Tiny(Architecture::kQwen2);
  gpt2.layer_norm_epsilon = 1e-6;
  gpt2.tie_word_embeddings = true;
  llama.rms_norm_eps = 3e-6;
  llama.rope_theta = 500000;
  llama.rope_scaling = RopeScaling::kLlama3;
  llama.rope_scaling_factor = 32;
  llama.rope_low_freq_factor = 2;
  llama.rope_high_freq_factor = 5;
  llama.rope_original_max_position_embeddings = 99;
  qwen2.rope_scaling = RopeScaling::kLinear;
  qwen2.rope_scaling_factor = 2.5;
  qwen2.initializer_range = 0.01;
  return {gpt2, llama, qwen2, Tiny(Architecture::kLlama), Tiny(Architecture::kGpt2)};
}

void WhatIsWrittenIsRead(void**) {
  for (const ModelSpec& model : Various()) {
    const auto read = ModelFromHuggingFaceConfig(HuggingFaceConfig(model), "config.json");
    assert_ok(read);
    assert_true(*read == model);
  }
}

void Gpt2HasItsOwnNames(void**) {
  const auto config = ParseJson(HuggingFaceConfig(Tiny(Architecture::kGpt2)));
  assert_ok(config);
  assert_text(config->at("architectures").at(0).get<std::string>(), "GPT2LMHeadModel");
  assert_text(config->at("activation_function").get<std::string>(), "gelu_new");
  assert_int_equal(config->at("n_embd").get<int64_t>(), 64);
  assert_int_equal(config->at("n_inner").get<int64_t>(), 192);
  assert_int_equal(config->at("n_positions").get<int64_t>(), 128);
  assert_false(config->contains("rope_theta"));
}

// As the files of published models are, cut to what matters.
void PublishedConfigsAreRead(void**) {
  const auto gpt2 = ModelFromHuggingFaceConfig(
      R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
          "bos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
          "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "n_inner": null,
          "vocab_size": 50257})",
      "config.json");
  assert_ok(gpt2);
  assert_int_equal(ParameterCount(*gpt2), 124439808);
  const auto llama = ModelFromHuggingFaceConfig(
      R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "head_dim": 64, "hidden_act": "silu",
          "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
          "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
          "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
          "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                           "original_max_position_embeddings": 8192, "rope_type": "llama3"},
          "rope_theta": 500000.0, "tie_word_embeddings": true, "vocab_size": 128256})",
      "config.json");
  assert_ok(llama);
  assert_int_equal(ParameterCount(*llama), 1235814400);
  assert_true(llama->rope_scaling == RopeScaling::kLlama3 && llama->rope_scaling_factor == 32);
  const auto qwen2 = ModelFromHuggingFaceConfig(
      R"({"model_type": "qwen2", "hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864,
          "max_position_embeddings": 32768, "max_window_layers": 24, "num_attention_heads": 14,
          "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "sliding_window": 32768,
          "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
          "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})",
      "config.json");
  assert_ok(qwen2);
  assert_int_equal(ParameterCount(*qwen2), 494032768);
  assert_true(qwen2->rope_theta == 1000000 && qwen2->rope_scaling == RopeScaling::kNone);
}

// The file with one field set to something else; null takes it away.
Result<ModelSpec> With(Architecture architecture, const char* key, const Json& value) {
  Json config = *ParseJson(HuggingFaceConfig(Tiny(architecture)));
  config[key] = value;
  return ModelFromHuggingFaceConfig(DumpJson(config), "dir/config.json");
}

void WhatIsNotComputedIsRefused(void**) {
  const struct {
    Architecture architecture;
    const char* key;
    Json value;
  } rows[] = {
      {Architecture::kLlama, "hidden_act", "gelu"},
      {Architecture::kLlama, "attention_bias", true},
      {Architecture::kLlama, "mlp_bias", true},
      {Architecture::kLlama, "head_dim", 32},
      {Architecture::kLlama, "rope_scaling", {{"rope_type", "yarn"}, {"factor", 2.0}}},
      {Architecture::kLlama, "rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}},
      {Architecture::kLlama, "rope_scaling", "llama3"},
      {Architecture::kLlama, "rope_scaling", {{"rope_type", "linear"}}},
      {Architecture::kLlama, "hidden_size", nullptr},
      {Architecture::kLlama, "num_hidden_layers", 0},
      {Architecture::kLlama, "num_attention_heads", 0},
      {Architecture::kQwen2, "use_sliding_window", true},
      {Architecture::kGpt2, "activation_function", "gelu"},
      {Architecture::kGpt2, "scale_attn_weights", false},
      {Architecture::kGpt2, "scale_attn_by_inverse_layer_idx", true},
      {Architecture::kGpt2, "add_cross_attention", true},
      {Architecture::kGpt2, "n_layer", nullptr},
      {Architecture::kGpt2, "vocab_size", -1},
  };
  for (const auto& row : rows) {
    const Status status = With(row.architecture, row.key, row.value).status();
    if (status.code() != ErrorCode::INVALID_OPTION) fail_msg("%s: %s", row.key, status.ToString().c_str());
  }
  const std::string message = With(Architecture::kLlama, "attention_bias", true).status().message();
  assert_text(message, "dir/config.json: attention_bias is true, which is not supported");
}

void WhatIsNoConfigIsRefused(void**) {
  assert_code(With(Architecture::kLlama, "model_type", "mixtral"), ErrorCode::UNKNOWN_ARCHITECTURE);
  assert_code(With(Architecture::kLlama, "model_type", nullptr), ErrorCode::UNKNOWN_ARCHITECTURE);
  assert_code(With(Architecture::kLlama, "hidden_size", "wide"), ErrorCode::MALFORMED_FRAME);
  assert_code(With(Architecture::kLlama, "hidden_size", 64.5), ErrorCode::MALFORMED_FRAME);
  for (const char* text : {"", "{", "[]", "3", "null", "\"llama\""}) {
    assert_code(ModelFromHuggingFaceConfig(text, "config.json"), ErrorCode::MALFORMED_FRAME);
  }
}

}  // namespace
}  // namespace traind::train

int main() {
  using namespace traind::train;
  const CMUnitTest tests[] = {
      cmocka_unit_test(WhatIsWrittenIsRead),     cmocka_unit_test(Gpt2HasItsOwnNames),
      cmocka_unit_test(PublishedConfigsAreRead), cmocka_unit_test(WhatIsNotComputedIsRefused),
      cmocka_unit_test(WhatIsNoConfigIsRefused),
  };
  return cmocka_run_group_tests_name("hf_config", tests, nullptr, nullptr);
}
