// Presets: published models by their shape, for CREATE MODEL … LIKE 'gpt2-124m'. Shapes only, no weights.
#pragma once

#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "engine/spec/model.h"

namespace traind {

struct Preset {
  std::string_view name;    // "llama-3.2-1b"
  std::string_view source;  // the published model whose config.json says so
  Architecture architecture;
  int64_t hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, intermediate_size;
  int64_t vocab_size, max_position_embeddings;
  double epsilon;             // of the family's norm
  double rope_theta;          // 0 where positions are learned
  double rope_llama3_factor;  // 0 where positions are not scaled
  bool tie_word_embeddings;
};
std::span<const Preset> Presets();

// The preset's specification, with the byte tokenizer. NO_SUCH_MODEL names the nearest.
Result<ModelSpec> PresetModel(std::string_view name);

}  // namespace traind
