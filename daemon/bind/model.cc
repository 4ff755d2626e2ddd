// Models of statements: specifications from options, and names and versions from the catalog.
#include "daemon/bind/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/bind/options.h"
#include "daemon/bind/tokenizer.h"
#include "daemon/bind/values.h"
#include "engine/base/nearest.h"
#include "engine/spec/names.h"
#include "engine/spec/presets.h"

namespace traind::daemon {
namespace {

constexpr int64_t kFeedForwardMultiple = 64;
constexpr int64_t kDefaultPositions = 1024;
constexpr int64_t kGeluWidth = 4;  // times hidden_size
constexpr double kLlama3Factor = 8;

struct IntegerField {
  std::string_view option;
  int64_t ModelSpec::*field;
};
constexpr IntegerField kIntegers[] = {
    {"hidden_size", &ModelSpec::hidden_size},
    {"num_hidden_layers", &ModelSpec::num_hidden_layers},
    {"num_attention_heads", &ModelSpec::num_attention_heads},
    {"num_key_value_heads", &ModelSpec::num_key_value_heads},
    {"intermediate_size", &ModelSpec::intermediate_size},
    {"vocab_size", &ModelSpec::vocab_size},
    {"max_position_embeddings", &ModelSpec::max_position_embeddings},
    {"rope_original_max_position_embeddings", &ModelSpec::rope_original_max_position_embeddings},
};
struct RealField {
  std::string_view option;
  double ModelSpec::*field;
};
constexpr RealField kReals[] = {
    {"rms_norm_eps", &ModelSpec::rms_norm_eps},
    {"layer_norm_epsilon", &ModelSpec::layer_norm_epsilon},
    {"rope_theta", &ModelSpec::rope_theta},
    {"rope_scaling_factor", &ModelSpec::rope_scaling_factor},
    {"rope_low_freq_factor", &ModelSpec::rope_low_freq_factor},
    {"rope_high_freq_factor", &ModelSpec::rope_high_freq_factor},
    {"initializer_range", &ModelSpec::initializer_range},
};

// Options that the family does not have, or that mean nothing without another.
Status CheckFamily(const BoundOptions& options, const ModelSpec& model) {
  for (const auto& [name, option] : options.all()) {
    if (!HasOption(model.architecture, name)) {
      return spec::InvalidOption(
          name, fmt::format("{} models have no {}", ArchitectureName(model.architecture), name));
    }
    const bool scales = name == "rope_scaling_factor" || name == "rope_low_freq_factor" ||
                        name == "rope_high_freq_factor" || name == "rope_original_max_position_embeddings";
    if (scales && model.rope_scaling == RopeScaling::kNone) {
      return spec::InvalidOption(name, fmt::format("{} means nothing without rope_scaling", name));
    }
    if (scales && name != "rope_scaling_factor" && model.rope_scaling != RopeScaling::kLlama3) {
      return spec::InvalidOption(name, fmt::format("{} belongs to rope_scaling=llama3", name));
    }
  }
  if (model.rope_scaling == RopeScaling::kLinear && options.Find("rope_scaling") != nullptr &&
      options.Find("rope_scaling_factor") == nullptr) {
    return spec::InvalidOption("rope_scaling", "rope_scaling=linear needs rope_scaling_factor, 2 or 4, say");
  }
  return {};
}

Status TakeOptions(const BoundOptions& options, ModelSpec* model) {
  for (const IntegerField& field : kIntegers) {
    if (const BoundOption* option = options.Find(field.option)) model->*field.field = option->integer;
  }
  for (const RealField& field : kReals) {
    if (const BoundOption* option = options.Find(field.option)) model->*field.field = option->real;
  }
  if (const BoundOption* option = options.Find("tie_word_embeddings"))
    model->tie_word_embeddings = option->integer != 0;
  if (const BoundOption* option = options.Find("tokenizer")) model->tokenizer = option->text;
  if (const BoundOption* option = options.Find("rope_scaling")) {
    auto scaling = ParseRopeScaling(option->text);
    if (!scaling.ok())
      return spec::InvalidOption("rope_scaling", scaling.status().message(), scaling.status().hint());
    model->rope_scaling = *scaling;
    if (*scaling == RopeScaling::kLlama3 && options.Find("rope_scaling_factor") == nullptr) {
      model->rope_scaling_factor = kLlama3Factor;
    }
  }
  if (!model->traits().grouped_queries) model->num_key_value_heads = model->num_attention_heads;
  return CheckFamily(options, *model);
}

// What was not given: required sizes stay 0.
void FillDefaults(const BoundOptions& options, ModelSpec* model) {
  if (options.Find("num_key_value_heads") == nullptr) model->num_key_value_heads = model->num_attention_heads;
  if (options.Find("max_position_embeddings") == nullptr) model->max_position_embeddings = kDefaultPositions;
  if (options.Find("tie_word_embeddings") == nullptr)
    model->tie_word_embeddings = model->traits().learned_positions;
  if (options.Find("intermediate_size") == nullptr && model->traits().gelu) {
    model->intermediate_size = kGeluWidth * model->hidden_size;
  } else if (options.Find("intermediate_size") == nullptr) {
    const int64_t exact = (8 * model->hidden_size + 2) / 3;
    model->intermediate_size =
        (exact + kFeedForwardMultiple - 1) / kFeedForwardMultiple * kFeedForwardMultiple;
  }
}

// Stands for sizes that were not given, so that those that were can be checked first.
ModelSpec WithStandIns(const BoundOptions& options, ModelSpec model) {
  if (model.num_hidden_layers == 0) model.num_hidden_layers = 1;
  if (model.hidden_size == 0) model.hidden_size = 2 * std::max<int64_t>(1, model.num_attention_heads);
  if (model.num_attention_heads == 0)
    model.num_attention_heads = std::max<int64_t>(1, model.num_key_value_heads);
  FillDefaults(options, &model);
  return model;
}

Status CheckRequired(const BoundOptions& options, SourcePosition position) {
  std::string missing;
  for (const OptionInfo& info : OptionsOf(OptionList::kModel)) {
    if (info.default_text == "required" && options.Find(info.name) == nullptr) {
      missing += (missing.empty() ? "" : ", ") + std::string(info.name);
    }
  }
  if (missing.empty()) return {};
  return Status(ErrorCode::MISSING_OPTION, fmt::format("WITH (…) must give {}", missing),
                "WITH (hidden_size=256, num_hidden_layers=4, num_attention_heads=8), say")
      .At(position);
}

Result<ModelSpec> FromArchitecture(Architecture architecture, SourcePosition position,
                                   const BoundOptions& options, const Context& context) {
  ModelSpec model;
  model.architecture = architecture;
  TRAIND_TRY(AtOption(TakeOptions(options, &model), options, position));
  TRAIND_TRY(TakeTokenizer(options, position, context, &model));
  const ModelSpec stood_in = WithStandIns(options, model);
  Status status = ValidateModel(stood_in);
  // An option that was not given can only be wrong by its stand-in.
  if (!status.ok() && options.Find(OptionOf(status)) != nullptr)
    return AtOption(std::move(status), options, position);
  TRAIND_TRY(CheckRequired(options, position));
  FillDefaults(options, &model);
  TRAIND_TRY(AtOption(ValidateModel(model), options, position));
  return model;
}

// What LIKE names: a model, or in quotes a preset.
Result<ModelSpec> Pattern(const grammar::CreateModel& statement, const Context& context) {
  if (statement.preset) {
    auto preset = PresetModel(statement.preset->text);
    if (!preset.ok()) return preset.status().At(statement.preset->position);
    return preset;
  }
  TRAIND_ASSIGN(const ModelRecord like, FindModel(*statement.like, context));
  return like.spec;
}

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : DumpJson(value);
}

}  // namespace

Result<ModelSpec> BindModelSpec(const grammar::CreateModel& statement, const Context& context) {
  if (statement.architecture) {
    auto architecture = ParseArchitecture(statement.architecture->text);
    if (!architecture.ok()) return architecture.status().At(statement.architecture->position);
    TRAIND_ASSIGN(const BoundOptions options, BindOptions(OptionList::kModel, statement.options));
    return FromArchitecture(*architecture, statement.architecture->position, options, context);
  }
  TRAIND_ASSIGN(const BoundOptions options, BindOptions(OptionList::kModel, statement.options));
  const SourcePosition position = statement.preset ? statement.preset->position : statement.like->position;
  TRAIND_ASSIGN(ModelSpec model, Pattern(statement, context));
  TRAIND_TRY(AtOption(TakeOptions(options, &model), options, position));
  TRAIND_TRY(TakeTokenizer(options, position, context, &model));
  TRAIND_TRY(AtOption(ValidateModel(model), options, position));
  return model;
}

namespace {

// Its newest version is one that the script would make.
bool HasCheckedVersion(const std::string& name, const Context& context) {
  return context.check && context.session.checked_versions.contains(name);
}

Result<std::optional<ModelRecord>> CheckedOrKept(const std::string& name, const Context& context) {
  const auto checked = context.session.checked_models.find(name);
  if (context.check && checked != context.session.checked_models.end()) {
    if (!checked->second) return std::optional<ModelRecord>();
    ModelRecord model;
    model.name = name;
    model.spec = *checked->second;
    return std::optional(std::move(model));
  }
  return LookUpModel(context.reader, name);
}

}  // namespace

Result<std::optional<ModelRecord>> FindModelIfAny(const std::string& name, const Context& context) {
  TRAIND_ASSIGN(auto model, CheckedOrKept(name, context));
  if (model && HasCheckedVersion(name, context)) {
    const int64_t newest = context.session.checked_versions.at(name);
    model->versions += newest - model->newest_version;
    model->newest_version = newest;
  }
  return model;
}

Result<ModelRecord> FindModel(const grammar::Name& name, const Context& context) {
  TRAIND_ASSIGN(auto model, FindModelIfAny(name.text, context));
  if (model) return *std::move(model);
  TRAIND_ASSIGN(const std::vector<std::string> names, ModelNames(context.reader));
  const std::string nearest =
      NearestWord(name.text, std::vector<std::string_view>(names.begin(), names.end()));
  return Status(ErrorCode::NO_SUCH_MODEL, fmt::format("there is no model {}", name.text),
                nearest.empty() ? "SHOW MODELS lists them; CREATE MODEL makes one"
                                : fmt::format("did you mean {}? SHOW MODELS lists them", nearest))
      .At(name.position);
}

Result<int64_t> BindVersion(const grammar::ModelRef& ref, const ModelRecord& model, const Context& context) {
  if (!ref.version) return model.newest_version;
  TRAIND_ASSIGN(const int64_t number, BindInteger(*ref.version, "a version", 1, INT64_MAX));
  TRAIND_ASSIGN(const auto version, LookUpVersion(context.reader, model.id, number));
  const bool will_be = HasCheckedVersion(model.name, context) && number <= model.newest_version;
  if (version || will_be) return number;
  const std::string have = model.versions == 0 ? std::string("it has none yet: TRAIN it first")
                                               : fmt::format("SHOW VERSIONS OF {} lists them", model.name);
  return Status(ErrorCode::NO_SUCH_VERSION, fmt::format("{} has no version {}", model.name, number), have)
      .At(ref.version->position);
}

std::string ModelDifference(const ModelSpec& existing, const ModelSpec& wanted) {
  const Json have = ModelToJson(existing);
  const Json want = ModelToJson(wanted);
  std::string difference;
  for (const auto& [key, value] : want.items()) {
    if (!have.contains(key) || have.at(key) == value || key == "tokenizer_id" || key == "end_of_text")
      continue;
    difference += fmt::format("{}{} is {}, not {}", difference.empty() ? "" : "; ", key, Text(have.at(key)),
                              Text(value));
  }
  return difference;
}

}  // namespace traind::daemon
