// ModelSpec: a decoder-only transformer as plain data, in Hugging Face's terms.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {

enum class Architecture { kLlama };

// The name in statements and in config.json's model_type ("llama"). UNKNOWN_ARCHITECTURE names the nearest.
std::string_view ArchitectureName(Architecture architecture);
Result<Architecture> ParseArchitecture(std::string_view name);

struct ModelSpec {
  Architecture architecture = Architecture::kLlama;
  int64_t hidden_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t intermediate_size = 0;
  int64_t vocab_size = 256;
  int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  std::string tokenizer = "bytes";

  int64_t head_size() const { return hidden_size / num_attention_heads; }
  bool operator==(const ModelSpec&) const = default;
};

// Checks ranges and divisibility: INVALID_OPTION whose detail_json is {"option": "hidden_size"}, so that the
// caller can point at the option. Sizes whose products overflow 2^62 are refused here.
Status ValidateModel(const ModelSpec& model);

// Total trainable parameters (a tied head counts once).
int64_t ParameterCount(const ModelSpec& model);

// Training FLOPs per token: 6·N + 12·L·h·s (N without the input embedding table), the MFU convention of
// training.md.
double TrainFlopsPerToken(const ModelSpec& model, int64_t sequence_length);

Json ModelToJson(const ModelSpec& model);
Result<ModelSpec> ModelFromJson(const Json& object);

}  // namespace traind
