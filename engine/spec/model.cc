// ModelSpec: limits, size, cost and JSON.
#include "engine/spec/model.h"

#include "engine/spec/names.h"

namespace traind {
namespace {

__extension__ using Wide = __int128;

constexpr spec::Named<Architecture> kArchitectures[] = {
    {Architecture::kLlama, "llama"},
    {Architecture::kGpt2, "gpt2"},
    {Architecture::kQwen2, "qwen2"},
};

constexpr ArchitectureTraits kRotary = {.layer_norm = false,
                                        .learned_positions = false,
                                        .gelu = false,
                                        .grouped_queries = true,
                                        .qkv_bias = false,
                                        .linear_bias = false,
                                        .input_major = false};
constexpr ArchitectureTraits kRotaryWithBias = {.layer_norm = false,
                                                .learned_positions = false,
                                                .gelu = false,
                                                .grouped_queries = true,
                                                .qkv_bias = true,
                                                .linear_bias = false,
                                                .input_major = false};
constexpr ArchitectureTraits kLearned = {.layer_norm = true,
                                         .learned_positions = true,
                                         .gelu = true,
                                         .grouped_queries = false,
                                         .qkv_bias = true,
                                         .linear_bias = true,
                                         .input_major = true};

constexpr spec::Named<RopeScaling> kRopeScalings[] = {
    {RopeScaling::kNone, "none"},
    {RopeScaling::kLinear, "linear"},
    {RopeScaling::kLlama3, "llama3"},
};

// Which models have a field.
using Condition = bool (*)(const ArchitectureTraits&);
bool Always(const ArchitectureTraits&) {
  return true;
}
bool IfGrouped(const ArchitectureTraits& traits) {
  return traits.grouped_queries;
}
bool IfRotary(const ArchitectureTraits& traits) {
  return !traits.learned_positions;
}
bool IfRmsNorm(const ArchitectureTraits& traits) {
  return !traits.layer_norm;
}
bool IfLayerNorm(const ArchitectureTraits& traits) {
  return traits.layer_norm;
}

// Fields with the largest values taken: beyond every published model, small enough that no product of four
// overflows Wide.
struct SizeField {
  std::string_view option;
  int64_t ModelSpec::*size;
  int64_t most;
  Condition has;
};
constexpr SizeField kSizes[] = {
    {"hidden_size", &ModelSpec::hidden_size, 1 << 20, Always},
    {"num_hidden_layers", &ModelSpec::num_hidden_layers, 1 << 16, Always},
    {"num_attention_heads", &ModelSpec::num_attention_heads, 1 << 16, Always},
    {"num_key_value_heads", &ModelSpec::num_key_value_heads, 1 << 16, IfGrouped},
    {"intermediate_size", &ModelSpec::intermediate_size, 1 << 24, Always},
    {"vocab_size", &ModelSpec::vocab_size, 1 << 24, Always},
    {"max_position_embeddings", &ModelSpec::max_position_embeddings, 1 << 24, Always},
};
struct RealField {
  std::string_view option;
  double ModelSpec::*value;
  double most;
  Condition has;
};
constexpr RealField kReals[] = {
    {"rms_norm_eps", &ModelSpec::rms_norm_eps, 1, IfRmsNorm},
    {"layer_norm_epsilon", &ModelSpec::layer_norm_epsilon, 1, IfLayerNorm},
    {"rope_theta", &ModelSpec::rope_theta, 1e12, IfRotary},
    {"initializer_range", &ModelSpec::initializer_range, 10, Always},
};

// Fields of scaled rotary positions, and from which kind of scaling on they mean something.
constexpr std::string_view kRopeScalingOption = "rope_scaling";
constexpr std::string_view kOriginalPositionsOption = "rope_original_max_position_embeddings";
constexpr int64_t kMostPositions = 1 << 24;
struct ScalingField {
  std::string_view option;
  double ModelSpec::*value;
  double most;
  RopeScaling from;
};
constexpr ScalingField kScalingReals[] = {
    {"rope_scaling_factor", &ModelSpec::rope_scaling_factor, 1e6, RopeScaling::kLinear},
    {"rope_low_freq_factor", &ModelSpec::rope_low_freq_factor, 1e6, RopeScaling::kLlama3},
    {"rope_high_freq_factor", &ModelSpec::rope_high_freq_factor, 1e6, RopeScaling::kLlama3},
};

// The byte tokenizer's tokens are 0 … 255.
constexpr int64_t kByteTokens = 256;

Status ValidateSize(std::string_view option, int64_t size, int64_t most) {
  if (size >= 1 && size <= most) return Ok();
  return spec::InvalidOption(option, std::string(option) + " is " + std::to_string(size) +
                                         "; it must be from 1 to " + std::to_string(most));
}

Status ValidateSizes(const ModelSpec& model) {
  for (const SizeField& field : kSizes) {
    TRAIND_TRY(ValidateSize(field.option, model.*field.size, field.most));
  }
  return Ok();
}

Status ValidateDivisibility(const ModelSpec& model) {
  const std::string heads = std::to_string(model.num_attention_heads);
  if (model.hidden_size % model.num_attention_heads != 0) {
    return spec::InvalidOption("hidden_size", "hidden_size " + std::to_string(model.hidden_size) +
                                                  " is not a multiple of num_attention_heads " + heads);
  }
  if (!model.traits().learned_positions && model.head_size() % 2 != 0) {
    return spec::InvalidOption("hidden_size", "hidden_size / num_attention_heads is " +
                                                  std::to_string(model.head_size()) +
                                                  "; it must be even, because rotary positions turn pairs");
  }
  if (model.num_attention_heads % model.num_key_value_heads != 0) {
    return spec::InvalidOption("num_key_value_heads", "num_attention_heads " + heads +
                                                          " is not a multiple of num_key_value_heads " +
                                                          std::to_string(model.num_key_value_heads));
  }
  if (!model.traits().grouped_queries && model.num_key_value_heads != model.num_attention_heads) {
    return spec::InvalidOption("num_key_value_heads", "num_key_value_heads is " +
                                                          std::to_string(model.num_key_value_heads) + "; " +
                                                          std::string(ArchitectureName(model.architecture)) +
                                                          " has as many as num_attention_heads, " + heads);
  }
  return Ok();
}

Status ValidateReal(std::string_view option, double value, double most) {
  if (value > 0 && value <= most) return Ok();  // false for NaN too
  return spec::InvalidOption(option,
                             std::string(option) + " must be above 0 and at most " + DumpJson(Json(most)));
}

Status ValidateRopeScaling(const ModelSpec& model) {
  if (model.rope_scaling == RopeScaling::kNone) return Ok();
  if (model.traits().learned_positions) {
    return spec::InvalidOption(kRopeScalingOption, std::string(ArchitectureName(model.architecture)) +
                                                       " has learned positions, nothing to scale");
  }
  for (const ScalingField& field : kScalingReals) {
    if (model.rope_scaling < field.from) continue;
    TRAIND_TRY(ValidateReal(field.option, model.*field.value, field.most));
  }
  if (model.rope_scaling_factor < 1) {
    return spec::InvalidOption("rope_scaling_factor", "rope_scaling_factor must be at least 1");
  }
  if (model.rope_scaling != RopeScaling::kLlama3) return Ok();
  if (model.rope_high_freq_factor <= model.rope_low_freq_factor) {
    return spec::InvalidOption("rope_high_freq_factor",
                               "rope_high_freq_factor must be above rope_low_freq_factor");
  }
  return ValidateSize(kOriginalPositionsOption, model.rope_original_max_position_embeddings, kMostPositions);
}

Wide LayerParameterCount(const ModelSpec& model) {
  const ArchitectureTraits& traits = model.traits();
  const Wide hidden = model.hidden_size;
  const Wide fused = hidden + 2 * static_cast<Wide>(model.num_key_value_heads) * model.head_size();
  const Wide widened = static_cast<Wide>(traits.gelu ? 1 : 2) * model.intermediate_size;
  const Wide matrices = hidden * (fused + hidden + widened + model.intermediate_size);
  const Wide norms = 2 * hidden * (traits.layer_norm ? 2 : 1);
  const Wide biases = (traits.qkv_bias ? fused : 0) + (traits.linear_bias ? hidden + widened + hidden : 0);
  return matrices + norms + biases;
}

// Of the tables in which tokens and positions are looked up, those that no product uses.
Wide LookedUpCount(const ModelSpec& model) {
  const Wide tokens = model.tie_word_embeddings ? 0 : static_cast<Wide>(model.hidden_size) * model.vocab_size;
  const Wide positions = model.traits().learned_positions
                             ? static_cast<Wide>(model.hidden_size) * model.max_position_embeddings
                             : 0;
  return tokens + positions;
}

Wide WideParameterCount(const ModelSpec& model) {
  const Wide hidden = model.hidden_size;
  const Wide head = hidden * model.vocab_size;
  const Wide last_norm = hidden * (model.traits().layer_norm ? 2 : 1);
  return LookedUpCount(model) + head + LayerParameterCount(model) * model.num_hidden_layers + last_norm;
}

Status ReadRopeScaling(const Json& object, ModelSpec* model) {
  TRAIND_ASSIGN(const std::string name, GetString(object, kRopeScalingOption));
  TRAIND_ASSIGN(model->rope_scaling, ParseRopeScaling(name));
  for (const ScalingField& field : kScalingReals) {
    if (model->rope_scaling < field.from) continue;
    TRAIND_ASSIGN(model->*field.value, GetDouble(object, field.option));
  }
  if (model->rope_scaling == RopeScaling::kLlama3) {
    TRAIND_ASSIGN(model->rope_original_max_position_embeddings, GetInt(object, kOriginalPositionsOption));
  }
  return Ok();
}

}  // namespace

std::string_view ArchitectureName(Architecture architecture) {
  return spec::NameOf(kArchitectures, architecture);
}

Result<Architecture> ParseArchitecture(std::string_view name) {
  return spec::ValueOf(kArchitectures, name, ErrorCode::UNKNOWN_ARCHITECTURE, "architecture");
}

const ArchitectureTraits& TraitsOf(Architecture architecture) {
  switch (architecture) {
    case Architecture::kLlama:
      return kRotary;
    case Architecture::kQwen2:
      return kRotaryWithBias;
    case Architecture::kGpt2:
      break;
  }
  return kLearned;
}

bool HasOption(Architecture architecture, std::string_view option) {
  const ArchitectureTraits& traits = TraitsOf(architecture);
  for (const SizeField& field : kSizes) {
    if (field.option == option) return field.has(traits);
  }
  for (const RealField& field : kReals) {
    if (field.option == option) return field.has(traits);
  }
  return !option.starts_with("rope_") || IfRotary(traits);
}

std::string_view RopeScalingName(RopeScaling scaling) {
  return spec::NameOf(kRopeScalings, scaling);
}

Result<RopeScaling> ParseRopeScaling(std::string_view name) {
  return spec::ValueOf(kRopeScalings, name, ErrorCode::INVALID_OPTION, "rope_scaling");
}

Status ValidateModel(const ModelSpec& model) {
  TRAIND_TRY(ValidateSizes(model));
  TRAIND_TRY(ValidateDivisibility(model));
  for (const RealField& field : kReals) {
    if (!field.has(model.traits())) continue;
    TRAIND_TRY(ValidateReal(field.option, model.*field.value, field.most));
  }
  TRAIND_TRY(ValidateRopeScaling(model));
  if (model.tokenizer_id == 0 && model.tokenizer != "bytes") {
    return spec::InvalidOption("tokenizer", "unknown tokenizer '" + model.tokenizer + "'", "Known: bytes.");
  }
  if (model.end_of_text < 0 || model.end_of_text >= model.vocab_size) {
    return spec::InvalidOption("vocab_size", "vocab_size is " + std::to_string(model.vocab_size) +
                                                 "; the end-of-text token of '" + model.tokenizer + "' is " +
                                                 std::to_string(model.end_of_text));
  }
  if (model.tokenizer_id == 0 && model.vocab_size < kByteTokens) {
    return spec::InvalidOption("vocab_size", "vocab_size is " + std::to_string(model.vocab_size) +
                                                 "; the byte tokenizer needs " + std::to_string(kByteTokens));
  }
  // Weights, gradients and both moments of every parameter, in bytes, must be countable.
  constexpr Wide kTrainedBytes = 16;
  constexpr Wide kMost = static_cast<Wide>(1) << 62;
  if (WideParameterCount(model) > kMost / kTrainedBytes) {
    return spec::InvalidOption("hidden_size",
                               "a model of these sizes has more parameters than can be counted");
  }
  return Ok();
}

int64_t ParameterCount(const ModelSpec& model) {
  return static_cast<int64_t>(WideParameterCount(model));
}

double TrainFlopsPerToken(const ModelSpec& model, int64_t sequence_length) {
  const auto used = static_cast<double>(WideParameterCount(model) - LookedUpCount(model));
  return 6.0 * used + 12.0 * static_cast<double>(model.num_hidden_layers) *
                          static_cast<double>(model.hidden_size) * static_cast<double>(sequence_length);
}

Json ModelToJson(const ModelSpec& model) {
  const ArchitectureTraits& traits = model.traits();
  Json object = {{"architecture", ArchitectureName(model.architecture)},
                 {"tie_word_embeddings", model.tie_word_embeddings},
                 {"tokenizer", model.tokenizer},
                 {"tokenizer_id", model.tokenizer_id},
                 {"end_of_text", model.end_of_text}};
  for (const SizeField& field : kSizes) {
    if (field.has(traits)) object[std::string(field.option)] = model.*field.size;
  }
  for (const RealField& field : kReals) {
    if (field.has(traits)) object[std::string(field.option)] = model.*field.value;
  }
  if (traits.learned_positions) return object;
  object[std::string(kRopeScalingOption)] = RopeScalingName(model.rope_scaling);
  for (const ScalingField& field : kScalingReals) {
    if (model.rope_scaling >= field.from) object[std::string(field.option)] = model.*field.value;
  }
  if (model.rope_scaling == RopeScaling::kLlama3) {
    object[std::string(kOriginalPositionsOption)] = model.rope_original_max_position_embeddings;
  }
  return object;
}

Result<ModelSpec> ModelFromJson(const Json& object) {
  ModelSpec model;
  TRAIND_ASSIGN(const std::string architecture, GetString(object, "architecture"));
  TRAIND_ASSIGN(model.architecture, ParseArchitecture(architecture));
  const ArchitectureTraits& traits = model.traits();
  for (const SizeField& field : kSizes) {
    if (!field.has(traits)) continue;
    TRAIND_ASSIGN(model.*field.size, GetInt(object, field.option));
  }
  if (!traits.grouped_queries) model.num_key_value_heads = model.num_attention_heads;
  for (const RealField& field : kReals) {
    if (!field.has(traits)) continue;
    TRAIND_ASSIGN(model.*field.value, GetDouble(object, field.option));
  }
  if (!traits.learned_positions) {
    TRAIND_TRY(ReadRopeScaling(object, &model));
  }
  TRAIND_ASSIGN(model.tie_word_embeddings, GetBool(object, "tie_word_embeddings"));
  TRAIND_ASSIGN(model.tokenizer, GetString(object, "tokenizer"));
  TRAIND_ASSIGN(model.tokenizer_id, GetIntOr(object, "tokenizer_id", 0));
  TRAIND_ASSIGN(model.end_of_text, GetIntOr(object, "end_of_text", 0));
  return model;
}

}  // namespace traind
