// The whole TrainingSpec: each setting from the statement, else the session, else its default.
#include "daemon/bind/training.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

constexpr int64_t kDefaultSequence = 1024;
constexpr int64_t kDefaultBatchTokens = 8192;

struct RealField {
  std::string_view option;
  double TrainingSpec::*field;
};
constexpr RealField kReals[] = {
    {"learning_rate", &TrainingSpec::learning_rate}, {"min_lr_ratio", &TrainingSpec::min_learning_rate_ratio},
    {"weight_decay", &TrainingSpec::weight_decay},   {"adam_beta1", &TrainingSpec::adam_beta1},
    {"adam_beta2", &TrainingSpec::adam_beta2},       {"adam_epsilon", &TrainingSpec::adam_epsilon},
    {"max_grad_norm", &TrainingSpec::max_grad_norm}, {"decay_ratio", &TrainingSpec::decay_ratio},
};
struct IntegerField {
  std::string_view option;
  int64_t TrainingSpec::*field;
};
constexpr IntegerField kIntegers[] = {
    {"warmup_steps", &TrainingSpec::warmup_steps},
    {"sequence_length", &TrainingSpec::sequence_length},
    {"batch_tokens", &TrainingSpec::batch_tokens},
    {"seed", &TrainingSpec::seed},
};

// Defaults that depend on the model and on other settings, as text.
std::string ComputedDefault(std::string_view option, const TrainingSpec& spec, const ModelSpec& model,
                            bool budget_is_target) {
  if (option == "sequence_length")
    return std::to_string(std::min(model.max_position_embeddings, kDefaultSequence));
  if (option == "batch_tokens") {
    const int64_t sequences =
        std::max<int64_t>(1, kDefaultBatchTokens / std::max<int64_t>(1, spec.sequence_length));
    return std::to_string(sequences * spec.sequence_length);
  }
  if (option == "precision") return std::string(PrecisionName(Precision::kFp32));  // until devices are known
  return std::string(SchedulerName(budget_is_target ? Scheduler::kWarmupStableDecay : Scheduler::kCosine));
}

bool IsComputed(std::string_view option) {
  return option == "sequence_length" || option == "batch_tokens" || option == "lr_scheduler_type" ||
         option == "precision";
}

Result<BoundOption> DefaultOf(const OptionInfo& info, std::string text) {
  grammar::Value value;
  value.text = std::move(text);
  return BindOption(info, &value, {});
}

Status Take(const BoundOption& option, TrainingSpec* spec) {
  const std::string_view name = option.info->name;
  if (name == "precision") {
    TRAIND_ASSIGN(spec->precision, ParsePrecision(option.text));
    return {};
  }
  if (name == "lr_scheduler_type") {
    TRAIND_ASSIGN(spec->scheduler, ParseScheduler(option.text));
    return {};
  }
  for (const RealField& field : kReals) {
    if (field.option == name) spec->*field.field = option.real;
  }
  for (const IntegerField& field : kIntegers) {
    if (field.option == name) spec->*field.field = option.integer;
  }
  return {};
}

Status CheckAgainstModel(const TrainingSpec& spec, const ModelSpec& model) {
  if (spec.sequence_length <= model.max_position_embeddings) return {};
  return Status(ErrorCode::INVALID_OPTION,
                fmt::format("sequence_length is {}; the model's max_position_embeddings is {}",
                            spec.sequence_length, model.max_position_embeddings))
      .With(R"({"option": "sequence_length"})");
}

}  // namespace

Result<BoundTraining> BindTraining(const TrainingDraft& draft, const ModelSpec& model,
                                   const grammar::Train& statement) {
  const SourcePosition otherwise = draft.given.all().empty() ? statement.position : statement.using_position;
  BoundTraining bound;
  bound.spec = draft.spec;
  for (const OptionInfo& info : OptionsOf(OptionList::kTrain)) {
    const BoundOption* option = draft.given.Find(info.name);
    std::string source = "statement";
    if (option == nullptr) {
      option = draft.session.Find(info.name);
      source = "session";
    }
    BoundOption default_option;
    if (option == nullptr) {
      const std::string text =
          IsComputed(info.name) ? ComputedDefault(info.name, bound.spec, model, !statement.target.has_value())
                                : std::string(info.default_text);
      TRAIND_ASSIGN(default_option, DefaultOf(info, text));
      option = &default_option;
      source = "default";
    }
    Status taken = Take(*option, &bound.spec);
    if (!taken.ok()) return std::move(taken).At(draft.given.KeyPosition(info.name, otherwise));
    bound.settings.push_back({std::string(info.name), option->text, source});
  }
  TRAIND_TRY(AtOption(CheckAgainstModel(bound.spec, model), draft.given, otherwise));
  TRAIND_TRY(AtOption(ValidateTraining(bound.spec), draft.given, otherwise));
  if (statement.validate) {
    bound.settings.push_back({"validate_every_steps",
                              bound.spec.validate_every_steps == 0
                                  ? std::string("at the end")
                                  : std::to_string(bound.spec.validate_every_steps),
                              statement.validate->every_steps ? "statement" : "default"});
  }
  std::ranges::copy(draft.clauses, std::back_inserter(bound.settings));
  if (statement.budget) {
    bound.settings.push_back({"at_budget_limit", std::string(LimitActionName(draft.budget.action)),
                              draft.budget.action_explicit ? "statement" : "default"});
  }
  return bound;
}

Status SettlePrecision(const std::vector<DeviceSpec>& devices, SourcePosition position,
                       BoundTraining* training) {
  const auto native = [](const DeviceSpec& device) { return device.bf16_flops_per_second > 0; };
  const auto setting = std::ranges::find(training->settings, "precision", &JobSetting::name);
  if (setting != training->settings.end() && setting->source == "default") {
    const bool bf16 = !devices.empty() && std::ranges::all_of(devices, native);
    training->spec.precision = bf16 ? Precision::kBf16 : Precision::kFp32;
    setting->value = PrecisionName(training->spec.precision);
    return {};
  }
  if (training->spec.precision != Precision::kBf16 || devices.empty() || std::ranges::any_of(devices, native))
    return {};
  const DeviceSpec& first = devices.front();
  return Status(ErrorCode::UNKNOWN_PRECISION,
                fmt::format("{}:{} ({}) does not compute in bf16 natively", first.node, first.index,
                            first.name.empty() ? first.type : first.name),
                "precision=fp32 is faster there")
      .At(position);
}

}  // namespace traind::daemon
