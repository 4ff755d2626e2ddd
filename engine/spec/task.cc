// Tasks and metric rows as JSON.
#include "engine/spec/task.h"

#include <utility>

namespace traind {
namespace {

// The field as an object for the From functions; null if it is missing, which they refuse by name.
const Json& Part(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto field = object.find(key);
  return field == object.end() ? none : *field;
}

}  // namespace

Json MetricRowToJson(const MetricRow& row) {
  Json object = {{"step", row.step},
                 {"tokens", row.tokens},
                 {"loss", row.loss},
                 {"learning_rate", row.learning_rate},
                 {"grad_norm", row.grad_norm},
                 {"tokens_per_second", row.tokens_per_second},
                 {"mfu", row.mfu},
                 {"time", row.time}};
  if (row.val_loss) object["val_loss"] = *row.val_loss;
  return object;
}

Result<MetricRow> MetricRowFromJson(const Json& object) {
  MetricRow row;
  TRAIND_ASSIGN(row.step, GetInt(object, "step"));
  TRAIND_ASSIGN(row.tokens, GetInt(object, "tokens"));
  TRAIND_ASSIGN(row.loss, GetDouble(object, "loss"));
  if (!Part(object, "val_loss").is_null()) {
    TRAIND_ASSIGN(row.val_loss, GetDouble(object, "val_loss"));
  }
  TRAIND_ASSIGN(row.learning_rate, GetDouble(object, "learning_rate"));
  TRAIND_ASSIGN(row.grad_norm, GetDouble(object, "grad_norm"));
  TRAIND_ASSIGN(row.tokens_per_second, GetDouble(object, "tokens_per_second"));
  TRAIND_ASSIGN(row.mfu, GetDouble(object, "mfu"));
  TRAIND_ASSIGN(row.time, GetDouble(object, "time"));
  return row;
}

Json TrainTaskToJson(const TrainTask& task) {
  Json object = {{"type", "train"},
                 {"job", task.job},
                 {"attempt", task.attempt},
                 {"model", ModelToJson(task.model)},
                 {"training", TrainingToJson(task.training)},
                 {"plan", task.plan},
                 {"data", MixtureToJson(task.data)},
                 {"tokenizer", task.tokenizer},
                 {"cache_directory", task.cache_directory},
                 {"checkpoint_directory", task.checkpoint_directory},
                 {"initial_weights", task.initial_weights},
                 {"resume_checkpoint", task.resume_checkpoint},
                 {"statement", task.statement},
                 {"total_steps", task.total_steps},
                 {"seconds_left", task.seconds_left},
                 {"deadline_scale", task.deadline_scale}};
  if (task.validation) object["validation"] = MixtureToJson(*task.validation);
  return object;
}

Result<TrainTask> TrainTaskFromJson(const Json& object) {
  TrainTask task;
  TRAIND_ASSIGN(task.job, GetInt(object, "job"));
  TRAIND_ASSIGN(task.attempt, GetInt(object, "attempt"));
  TRAIND_ASSIGN(task.model, ModelFromJson(Part(object, "model")));
  TRAIND_ASSIGN(task.training, TrainingFromJson(Part(object, "training")));
  task.plan = Part(object, "plan");
  TRAIND_ASSIGN(task.data, MixtureFromJson(Part(object, "data")));
  if (const Json& validation = Part(object, "validation"); !validation.is_null()) {
    TRAIND_ASSIGN(task.validation, MixtureFromJson(validation));
  }
  TRAIND_ASSIGN(task.tokenizer, GetStringOr(object, "tokenizer", ""));
  TRAIND_ASSIGN(task.cache_directory, GetString(object, "cache_directory"));
  TRAIND_ASSIGN(task.checkpoint_directory, GetString(object, "checkpoint_directory"));
  TRAIND_ASSIGN(task.initial_weights, GetStringOr(object, "initial_weights", ""));
  TRAIND_ASSIGN(task.resume_checkpoint, GetStringOr(object, "resume_checkpoint", ""));
  TRAIND_ASSIGN(task.statement, GetStringOr(object, "statement", ""));
  TRAIND_ASSIGN(task.total_steps, GetInt(object, "total_steps"));
  TRAIND_ASSIGN(task.seconds_left, GetDoubleOr(object, "seconds_left", 0));
  TRAIND_ASSIGN(task.deadline_scale, GetDoubleOr(object, "deadline_scale", 1));
  return task;
}

Json EvaluateTaskToJson(const EvaluateTask& task) {
  return {{"type", "evaluate"},
          {"model", ModelToJson(task.model)},
          {"weights", task.weights},
          {"plan", task.plan},
          {"data", DataToJson(task.data)},
          {"tokenizer", task.tokenizer},
          {"cache_directory", task.cache_directory},
          {"batches", task.batches},
          {"sequence_length", task.sequence_length},
          {"batch_sequences", task.batch_sequences}};
}

Result<EvaluateTask> EvaluateTaskFromJson(const Json& object) {
  EvaluateTask task;
  TRAIND_ASSIGN(task.model, ModelFromJson(Part(object, "model")));
  TRAIND_ASSIGN(task.weights, GetString(object, "weights"));
  task.plan = Part(object, "plan");
  TRAIND_ASSIGN(task.data, DataFromJson(Part(object, "data")));
  TRAIND_ASSIGN(task.tokenizer, GetStringOr(object, "tokenizer", ""));
  TRAIND_ASSIGN(task.cache_directory, GetString(object, "cache_directory"));
  TRAIND_ASSIGN(task.batches, GetInt(object, "batches"));
  TRAIND_ASSIGN(task.sequence_length, GetInt(object, "sequence_length"));
  TRAIND_ASSIGN(task.batch_sequences, GetInt(object, "batch_sequences"));
  return task;
}

Json GenerateTaskToJson(const GenerateTask& task) {
  return {{"type", "generate"},
          {"model", ModelToJson(task.model)},
          {"weights", task.weights},
          {"plan", task.plan},
          {"tokenizer", task.tokenizer},
          {"prompt", task.prompt},
          {"max_tokens", task.max_tokens},
          {"context", task.context},
          {"temperature", task.temperature},
          {"top_k", task.top_k},
          {"top_p", task.top_p},
          {"stop", task.stop},
          {"seed", task.seed}};
}

Result<GenerateTask> GenerateTaskFromJson(const Json& object) {
  GenerateTask task;
  TRAIND_ASSIGN(task.model, ModelFromJson(Part(object, "model")));
  TRAIND_ASSIGN(task.weights, GetString(object, "weights"));
  task.plan = Part(object, "plan");
  TRAIND_ASSIGN(task.tokenizer, GetStringOr(object, "tokenizer", ""));
  TRAIND_ASSIGN(task.prompt, GetString(object, "prompt"));
  TRAIND_ASSIGN(task.max_tokens, GetInt(object, "max_tokens"));
  TRAIND_ASSIGN(task.context, GetInt(object, "context"));
  TRAIND_ASSIGN(task.temperature, GetDouble(object, "temperature"));
  TRAIND_ASSIGN(task.top_k, GetInt(object, "top_k"));
  TRAIND_ASSIGN(task.top_p, GetDouble(object, "top_p"));
  TRAIND_ASSIGN(task.stop, GetString(object, "stop"));
  TRAIND_ASSIGN(task.seed, GetInt(object, "seed"));
  return task;
}

Json ImportTaskToJson(const ImportTask& task) {
  return {{"type", "import"},
          {"source", task.source},
          {"target", task.target},
          {"tokenizer", task.tokenizer},
          {"check", task.check}};
}

Result<ImportTask> ImportTaskFromJson(const Json& object) {
  ImportTask task;
  TRAIND_ASSIGN(task.source, GetString(object, "source"));
  TRAIND_ASSIGN(task.target, GetString(object, "target"));
  TRAIND_ASSIGN(task.tokenizer, GetStringOr(object, "tokenizer", ""));
  TRAIND_ASSIGN(task.check, GetBoolOr(object, "check", false));
  return task;
}

Json ExportTaskToJson(const ExportTask& task) {
  return {{"type", "export"},
          {"model", ModelToJson(task.model)},
          {"weights", task.weights},
          {"tokenizer", task.tokenizer},
          {"target", task.target}};
}

Result<ExportTask> ExportTaskFromJson(const Json& object) {
  ExportTask task;
  TRAIND_ASSIGN(task.model, ModelFromJson(Part(object, "model")));
  TRAIND_ASSIGN(task.weights, GetString(object, "weights"));
  TRAIND_ASSIGN(task.tokenizer, GetStringOr(object, "tokenizer", ""));
  TRAIND_ASSIGN(task.target, GetString(object, "target"));
  return task;
}

Json TokenizerTaskToJson(const TokenizerTask& task) {
  Json data = Json::array();
  for (const DataSpec& each : task.data) data.push_back(DataToJson(each));
  return {{"type", "make_tokenizer"},
          {"directory", task.directory},
          {"file", task.file},
          {"end_of_text", task.end_of_text},
          {"data", std::move(data)},
          {"vocab_size", task.vocab_size},
          {"min_frequency", task.min_frequency},
          {"pattern", task.pattern}};
}

Result<TokenizerTask> TokenizerTaskFromJson(const Json& object) {
  TokenizerTask task;
  TRAIND_ASSIGN(task.directory, GetString(object, "directory"));
  TRAIND_ASSIGN(task.file, GetStringOr(object, "file", ""));
  TRAIND_ASSIGN(task.end_of_text, GetStringOr(object, "end_of_text", ""));
  for (const Json& each : Part(object, "data")) {
    TRAIND_ASSIGN(DataSpec data, DataFromJson(each));
    task.data.push_back(std::move(data));
  }
  TRAIND_ASSIGN(task.vocab_size, GetInt(object, "vocab_size"));
  TRAIND_ASSIGN(task.min_frequency, GetInt(object, "min_frequency"));
  TRAIND_ASSIGN(task.pattern, GetString(object, "pattern"));
  return task;
}

Json TokenizerFactsToJson(const TokenizerFacts& facts) {
  return {{"kind", facts.kind},
          {"vocab_size", facts.vocab_size},
          {"end_of_text", facts.end_of_text},
          {"end_of_text_id", facts.end_of_text_id},
          {"key", facts.key},
          {"bytes", facts.bytes}};
}

Result<TokenizerFacts> TokenizerFactsFromJson(const Json& object) {
  TokenizerFacts facts;
  TRAIND_ASSIGN(facts.kind, GetString(object, "kind"));
  TRAIND_ASSIGN(facts.vocab_size, GetInt(object, "vocab_size"));
  TRAIND_ASSIGN(facts.end_of_text, GetString(object, "end_of_text"));
  TRAIND_ASSIGN(facts.end_of_text_id, GetInt(object, "end_of_text_id"));
  TRAIND_ASSIGN(facts.key, GetString(object, "key"));
  TRAIND_ASSIGN(facts.bytes, GetInt(object, "bytes"));
  return facts;
}

}  // namespace traind
