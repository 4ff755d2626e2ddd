// The one table of presets: HELP, trainql(7) and tests read it too.
#include "engine/spec/presets.h"

#include <string>
#include <vector>

#include "engine/base/nearest.h"

namespace traind {
namespace {

constexpr auto kGpt2 = Architecture::kGpt2, kLlama = Architecture::kLlama, kQwen2 = Architecture::kQwen2;

// name, source; family; hidden, layers, heads, key-value heads, intermediate; vocabulary, positions; epsilon,
// theta, llama3 factor; tied
constexpr Preset kPresets[] = {
    {"gpt2-124m", "openai-community/gpt2", kGpt2, 768, 12, 12, 12, 3072, 50257, 1024, 1e-5, 0, 0, true},
    {"gpt2-355m", "openai-community/gpt2-medium", kGpt2, 1024, 24, 16, 16, 4096, 50257, 1024, 1e-5, 0, 0,
     true},
    {"gpt2-774m", "openai-community/gpt2-large", kGpt2, 1280, 36, 20, 20, 5120, 50257, 1024, 1e-5, 0, 0,
     true},
    {"gpt2-1.5b", "openai-community/gpt2-xl", kGpt2, 1600, 48, 25, 25, 6400, 50257, 1024, 1e-5, 0, 0, true},
    {"smollm-135m", "HuggingFaceTB/SmolLM-135M", kLlama, 576, 30, 9, 3, 1536, 49152, 2048, 1e-5, 10000, 0,
     true},
    {"tinyllama-1.1b", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", kLlama, 2048, 22, 32, 4, 5632, 32000, 2048, 1e-5,
     10000, 0, false},
    {"llama-2-7b", "meta-llama/Llama-2-7b-hf", kLlama, 4096, 32, 32, 32, 11008, 32000, 4096, 1e-5, 10000, 0,
     false},
    {"llama-2-13b", "meta-llama/Llama-2-13b-hf", kLlama, 5120, 40, 40, 40, 13824, 32000, 4096, 1e-5, 10000, 0,
     false},
    {"llama-2-70b", "meta-llama/Llama-2-70b-hf", kLlama, 8192, 80, 64, 8, 28672, 32000, 4096, 1e-5, 10000, 0,
     false},
    {"llama-3-8b", "meta-llama/Meta-Llama-3-8B", kLlama, 4096, 32, 32, 8, 14336, 128256, 8192, 1e-5, 500000,
     0, false},
    {"llama-3-70b", "meta-llama/Meta-Llama-3-70B", kLlama, 8192, 80, 64, 8, 28672, 128256, 8192, 1e-5, 500000,
     0, false},
    {"llama-3.1-8b", "meta-llama/Llama-3.1-8B", kLlama, 4096, 32, 32, 8, 14336, 128256, 131072, 1e-5, 500000,
     8, false},
    {"llama-3.2-1b", "meta-llama/Llama-3.2-1B", kLlama, 2048, 16, 32, 8, 8192, 128256, 131072, 1e-5, 500000,
     32, true},
    {"llama-3.2-3b", "meta-llama/Llama-3.2-3B", kLlama, 3072, 28, 24, 8, 8192, 128256, 131072, 1e-5, 500000,
     32, true},
    {"qwen2-0.5b", "Qwen/Qwen2-0.5B", kQwen2, 896, 24, 14, 2, 4864, 151936, 131072, 1e-6, 1000000, 0, true},
    {"qwen2-1.5b", "Qwen/Qwen2-1.5B", kQwen2, 1536, 28, 12, 2, 8960, 151936, 131072, 1e-6, 1000000, 0, true},
    {"qwen2-7b", "Qwen/Qwen2-7B", kQwen2, 3584, 28, 28, 4, 18944, 152064, 131072, 1e-6, 1000000, 0, false},
};

ModelSpec SpecOf(const Preset& preset) {
  ModelSpec model;
  model.architecture = preset.architecture;
  model.hidden_size = preset.hidden_size;
  model.num_hidden_layers = preset.num_hidden_layers;
  model.num_attention_heads = preset.num_attention_heads;
  model.num_key_value_heads = preset.num_key_value_heads;
  model.intermediate_size = preset.intermediate_size;
  model.vocab_size = preset.vocab_size;
  model.max_position_embeddings = preset.max_position_embeddings;
  model.tie_word_embeddings = preset.tie_word_embeddings;
  (model.traits().layer_norm ? model.layer_norm_epsilon : model.rms_norm_eps) = preset.epsilon;
  if (!model.traits().learned_positions) model.rope_theta = preset.rope_theta;
  if (preset.rope_llama3_factor > 0) {
    model.rope_scaling = RopeScaling::kLlama3;
    model.rope_scaling_factor = preset.rope_llama3_factor;
  }
  return model;
}

}  // namespace

std::span<const Preset> Presets() {
  return kPresets;
}

Result<ModelSpec> PresetModel(std::string_view name) {
  std::vector<std::string_view> known;
  std::string list;
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return SpecOf(preset);
    known.push_back(preset.name);
    list += (list.empty() ? "" : ", ") + std::string(preset.name);
  }
  const std::string nearest = NearestWord(name, std::span<const std::string_view>(known));
  return Status(ErrorCode::NO_SUCH_MODEL,
                "there is no preset '" + std::string(name) + "'" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"),
                "Known: " + list + ".");
}

}  // namespace traind
