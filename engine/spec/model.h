// ModelSpec: a decoder-only transformer as plain data, in Hugging Face's terms.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {

enum class Architecture { kLlama, kGpt2, kQwen2 };

// The name in statements and in config.json's model_type ("llama"). UNKNOWN_ARCHITECTURE names the nearest.
std::string_view ArchitectureName(Architecture architecture);
Result<Architecture> ParseArchitecture(std::string_view name);

// What sets the families of decoders apart.
struct ArchitectureTraits {
  bool layer_norm;         // LayerNorm with a bias; else RMSNorm
  bool learned_positions;  // a table that is added to the embedding; else rotary positions
  bool gelu;               // one matrix, GELU (tanh form), one matrix; else SwiGLU
  bool grouped_queries;    // fewer key and value heads than query heads are allowed
  bool qkv_bias;           // of queries, keys and values
  bool linear_bias;        // of the layers' other linears
  bool input_major;        // the layers' matrices are stored (input, output), else (output, input)
};
const ArchitectureTraits& TraitsOf(Architecture architecture);

// Whether models of the family have that option ("rope_theta").
bool HasOption(Architecture architecture, std::string_view option);

// How rotary positions reach beyond those that a model was trained on.
enum class RopeScaling {
  kNone,
  kLinear,  // all frequencies are divided by the factor
  kLlama3,  // low frequencies are, high ones are not, with a smooth passage between
};
std::string_view RopeScalingName(RopeScaling scaling);  // "none", "linear", "llama3"
Result<RopeScaling> ParseRopeScaling(std::string_view name);

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
  double layer_norm_epsilon = 1e-5;
  double rope_theta = 10000;
  RopeScaling rope_scaling = RopeScaling::kNone;
  double rope_scaling_factor = 1;    // linear and llama3
  double rope_low_freq_factor = 1;   // llama3: wavelengths above original/low are divided by the factor,
  double rope_high_freq_factor = 4;  // those below original/high are kept
  int64_t rope_original_max_position_embeddings = 8192;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  std::string tokenizer = "bytes";
  int64_t tokenizer_id = 0;  // of the catalog, whose names may change; 0: bytes
  int64_t end_of_text = 0;   // the tokenizer's id for it, config.json's eos_token_id

  int64_t head_size() const { return hidden_size / num_attention_heads; }
  const ArchitectureTraits& traits() const { return TraitsOf(architecture); }
  bool operator==(const ModelSpec&) const = default;
};

// Checks ranges and divisibility: INVALID_OPTION whose detail_json is {"option": "hidden_size"}, so that the
// caller can point at the option. Sizes whose products overflow 2^62 are refused here.
Status ValidateModel(const ModelSpec& model);

// Total trainable parameters (a tied head counts once).
int64_t ParameterCount(const ModelSpec& model);

// Training FLOPs per token: 6·N + 12·L·h·s (N without tables that are only looked up), the MFU convention of
// training.md.
double TrainFlopsPerToken(const ModelSpec& model, int64_t sequence_length);

// The fields that the family has.
Json ModelToJson(const ModelSpec& model);
Result<ModelSpec> ModelFromJson(const Json& object);

}  // namespace traind
