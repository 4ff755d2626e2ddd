// ModelSpec: limits, size, cost and JSON.
#include "engine/spec/model.h"

#include <cmath>

#include "engine/spec/names.h"

namespace traind {
namespace {

__extension__ using Wide = __int128;

constexpr spec::Named<Architecture> kArchitectures[] = {{Architecture::kLlama, "llama"}};

// Largest values taken: beyond every published model, small enough that no product of four overflows Wide.
struct SizeLimit {
  std::string_view option;
  int64_t ModelSpec::*size;
  int64_t most;
};
constexpr SizeLimit kSizes[] = {
    {"hidden_size", &ModelSpec::hidden_size, 1 << 20},
    {"num_hidden_layers", &ModelSpec::num_hidden_layers, 1 << 16},
    {"num_attention_heads", &ModelSpec::num_attention_heads, 1 << 16},
    {"num_key_value_heads", &ModelSpec::num_key_value_heads, 1 << 16},
    {"intermediate_size", &ModelSpec::intermediate_size, 1 << 24},
    {"vocab_size", &ModelSpec::vocab_size, 1 << 24},
    {"max_position_embeddings", &ModelSpec::max_position_embeddings, 1 << 24},
};

// The byte tokenizer's tokens are 0 … 255.
constexpr int64_t kByteTokens = 256;

Status ValidateSizes(const ModelSpec& model) {
  for (const SizeLimit& limit : kSizes) {
    const int64_t size = model.*limit.size;
    if (size < 1 || size > limit.most) {
      return spec::InvalidOption(limit.option, std::string(limit.option) + " is " + std::to_string(size) +
                                                   "; it must be from 1 to " + std::to_string(limit.most));
    }
  }
  return Ok();
}

Status ValidateDivisibility(const ModelSpec& model) {
  const std::string heads = std::to_string(model.num_attention_heads);
  if (model.hidden_size % model.num_attention_heads != 0) {
    return spec::InvalidOption("hidden_size", "hidden_size " + std::to_string(model.hidden_size) +
                                                  " is not a multiple of num_attention_heads " + heads);
  }
  if (model.head_size() % 2 != 0) {
    return spec::InvalidOption("hidden_size", "hidden_size / num_attention_heads is " +
                                                  std::to_string(model.head_size()) +
                                                  "; it must be even, because rotary positions turn pairs");
  }
  if (model.num_attention_heads % model.num_key_value_heads != 0) {
    return spec::InvalidOption("num_key_value_heads", "num_attention_heads " + heads +
                                                          " is not a multiple of num_key_value_heads " +
                                                          std::to_string(model.num_key_value_heads));
  }
  return Ok();
}

Status ValidateReal(std::string_view option, double value, double most) {
  if (value > 0 && value <= most) return Ok();  // false for NaN too
  return spec::InvalidOption(option,
                             std::string(option) + " must be above 0 and at most " + DumpJson(Json(most)));
}

Wide WideParameterCount(const ModelSpec& model) {
  const Wide hidden = model.hidden_size;
  const Wide key_value = static_cast<Wide>(model.num_key_value_heads) * model.head_size();
  const Wide attention = 2 * hidden * hidden + 2 * hidden * key_value;
  const Wide feed_forward = 3 * hidden * model.intermediate_size;
  const Wide norms = 2 * hidden;
  const Wide embedding = hidden * model.vocab_size;
  const Wide head = model.tie_word_embeddings ? 0 : embedding;
  return embedding + head + hidden + (attention + feed_forward + norms) * model.num_hidden_layers;
}

}  // namespace

std::string_view ArchitectureName(Architecture architecture) {
  return spec::NameOf(kArchitectures, architecture);
}

Result<Architecture> ParseArchitecture(std::string_view name) {
  return spec::ValueOf(kArchitectures, name, ErrorCode::UNKNOWN_ARCHITECTURE, "architecture");
}

Status ValidateModel(const ModelSpec& model) {
  TRAIND_TRY(ValidateSizes(model));
  TRAIND_TRY(ValidateDivisibility(model));
  TRAIND_TRY(ValidateReal("rms_norm_eps", model.rms_norm_eps, 1));
  TRAIND_TRY(ValidateReal("rope_theta", model.rope_theta, 1e12));
  TRAIND_TRY(ValidateReal("initializer_range", model.initializer_range, 10));
  if (model.tokenizer != "bytes") {
    return spec::InvalidOption("tokenizer", "unknown tokenizer '" + model.tokenizer + "'", "Known: bytes.");
  }
  if (model.vocab_size < kByteTokens) {
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
  const int64_t input_table = model.tie_word_embeddings ? 0 : model.hidden_size * model.vocab_size;
  const auto used = static_cast<double>(ParameterCount(model) - input_table);
  return 6.0 * used + 12.0 * static_cast<double>(model.num_hidden_layers) *
                          static_cast<double>(model.hidden_size) * static_cast<double>(sequence_length);
}

Json ModelToJson(const ModelSpec& model) {
  Json object = {{"architecture", ArchitectureName(model.architecture)},
                 {"rms_norm_eps", model.rms_norm_eps},
                 {"rope_theta", model.rope_theta},
                 {"initializer_range", model.initializer_range},
                 {"tie_word_embeddings", model.tie_word_embeddings},
                 {"tokenizer", model.tokenizer}};
  for (const SizeLimit& limit : kSizes) object[std::string(limit.option)] = model.*limit.size;
  return object;
}

Result<ModelSpec> ModelFromJson(const Json& object) {
  ModelSpec model;
  TRAIND_ASSIGN(const std::string architecture, GetString(object, "architecture"));
  TRAIND_ASSIGN(model.architecture, ParseArchitecture(architecture));
  for (const SizeLimit& limit : kSizes) {
    TRAIND_ASSIGN(model.*limit.size, GetInt(object, limit.option));
  }
  TRAIND_ASSIGN(model.rms_norm_eps, GetDouble(object, "rms_norm_eps"));
  TRAIND_ASSIGN(model.rope_theta, GetDouble(object, "rope_theta"));
  TRAIND_ASSIGN(model.initializer_range, GetDouble(object, "initializer_range"));
  TRAIND_ASSIGN(model.tie_word_embeddings, GetBool(object, "tie_word_embeddings"));
  TRAIND_ASSIGN(model.tokenizer, GetString(object, "tokenizer"));
  return model;
}

}  // namespace traind
