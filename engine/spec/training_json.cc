// TrainingSpec as JSON.
#include "engine/spec/training.h"

namespace traind {
namespace {

template <typename T>
void PutOptional(Json* object, const char* key, const std::optional<T>& value) {
  if (value) (*object)[key] = *value;
}

Result<std::optional<int64_t>> TakeInt(const Json& object, std::string_view key) {
  if (!object.is_object() || !object.contains(std::string(key))) return std::optional<int64_t>();
  TRAIND_ASSIGN(const int64_t value, GetInt(object, key));
  return std::optional<int64_t>(value);
}

Result<std::optional<double>> TakeDouble(const Json& object, std::string_view key) {
  if (!object.is_object() || !object.contains(std::string(key))) return std::optional<double>();
  TRAIND_ASSIGN(const double value, GetDouble(object, key));
  return std::optional<double>(value);
}

Result<Target> TargetFromJson(const Json& object) {
  if (!object.is_object()) return Status(ErrorCode::MALFORMED_FRAME, "the field 'target' must be an object");
  Target target;
  TRAIND_ASSIGN(target.steps, TakeInt(object, "steps"));
  TRAIND_ASSIGN(target.tokens, TakeInt(object, "tokens"));
  TRAIND_ASSIGN(target.epochs, TakeDouble(object, "epochs"));
  return target;
}

Result<StopCondition> StopFromJson(const Json& object) {
  StopCondition stop;
  TRAIND_ASSIGN(stop.metric, GetString(object, "metric"));
  TRAIND_ASSIGN(stop.below, GetDouble(object, "below"));
  return stop;
}

Status TakeOptimizer(const Json& object, TrainingSpec* training) {
  TRAIND_ASSIGN(training->learning_rate, GetDouble(object, "learning_rate"));
  TRAIND_ASSIGN(training->min_learning_rate_ratio, GetDouble(object, "min_lr_ratio"));
  TRAIND_ASSIGN(training->weight_decay, GetDouble(object, "weight_decay"));
  TRAIND_ASSIGN(training->adam_beta1, GetDouble(object, "adam_beta1"));
  TRAIND_ASSIGN(training->adam_beta2, GetDouble(object, "adam_beta2"));
  TRAIND_ASSIGN(training->adam_epsilon, GetDouble(object, "adam_epsilon"));
  TRAIND_ASSIGN(training->max_grad_norm, GetDouble(object, "max_grad_norm"));
  TRAIND_ASSIGN(training->warmup_steps, GetInt(object, "warmup_steps"));
  TRAIND_ASSIGN(training->decay_ratio, GetDouble(object, "decay_ratio"));
  TRAIND_ASSIGN(const std::string scheduler, GetString(object, "lr_scheduler_type"));
  TRAIND_ASSIGN(training->scheduler, ParseScheduler(scheduler));
  return Ok();
}

}  // namespace

Json TrainingToJson(const TrainingSpec& training) {
  Json target = Json::object();
  PutOptional(&target, "steps", training.target.steps);
  PutOptional(&target, "tokens", training.target.tokens);
  PutOptional(&target, "epochs", training.target.epochs);
  Json object = {{"learning_rate", training.learning_rate},
                 {"min_lr_ratio", training.min_learning_rate_ratio},
                 {"weight_decay", training.weight_decay},
                 {"adam_beta1", training.adam_beta1},
                 {"adam_beta2", training.adam_beta2},
                 {"adam_epsilon", training.adam_epsilon},
                 {"max_grad_norm", training.max_grad_norm},
                 {"warmup_steps", training.warmup_steps},
                 {"decay_ratio", training.decay_ratio},
                 {"lr_scheduler_type", SchedulerName(training.scheduler)},
                 {"sequence_length", training.sequence_length},
                 {"batch_tokens", training.batch_tokens},
                 {"precision", PrecisionName(training.precision)},
                 {"seed", training.seed},
                 {"target", std::move(target)},
                 {"validate_every_steps", training.validate_every_steps},
                 {"keep_checkpoints", training.keep_checkpoints}};
  if (training.until)
    object["until"] = {{"metric", training.until->metric}, {"below", training.until->below}};
  PutOptional(&object, "checkpoint_every_steps", training.checkpoint_every_steps);
  PutOptional(&object, "checkpoint_every_seconds", training.checkpoint_every_seconds);
  return object;
}

Result<TrainingSpec> TrainingFromJson(const Json& object) {
  TrainingSpec training;
  TRAIND_TRY(TakeOptimizer(object, &training));
  TRAIND_ASSIGN(training.sequence_length, GetInt(object, "sequence_length"));
  TRAIND_ASSIGN(training.batch_tokens, GetInt(object, "batch_tokens"));
  TRAIND_ASSIGN(const std::string precision, GetString(object, "precision"));
  TRAIND_ASSIGN(training.precision, ParsePrecision(precision));
  TRAIND_ASSIGN(training.seed, GetInt(object, "seed"));
  TRAIND_ASSIGN(training.validate_every_steps, GetInt(object, "validate_every_steps"));
  TRAIND_ASSIGN(training.keep_checkpoints, GetInt(object, "keep_checkpoints"));
  TRAIND_ASSIGN(training.checkpoint_every_steps, TakeInt(object, "checkpoint_every_steps"));
  TRAIND_ASSIGN(training.checkpoint_every_seconds, TakeDouble(object, "checkpoint_every_seconds"));
  if (const auto target = object.find("target"); target != object.end()) {
    TRAIND_ASSIGN(training.target, TargetFromJson(*target));
  }
  if (const auto until = object.find("until"); until != object.end()) {
    TRAIND_ASSIGN(training.until, StopFromJson(*until));
  }
  return training;
}

}  // namespace traind
