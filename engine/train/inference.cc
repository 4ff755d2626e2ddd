// Loads a model for inference, evaluates, generates.
#include "engine/train/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "engine/data/tokenizer.h"
#include "engine/model/model.h"
#include "engine/ops/context.h"
#include "engine/train/deadlines.h"
#include "engine/train/evaluation.h"
#include "engine/train/model_state.h"
#include "engine/train/sampling.h"
#include "engine/train/training_data.h"

namespace traind::train {
namespace {

constexpr size_t kByteValues = 256;

Status Interrupted() {
  return Status(ErrorCode::INTERRUPTED, "asked to stop");
}

// The sequences in task.batches batches; 0 for all.
int64_t SequencesOf(const EvaluateTask& task, int64_t available) {
  const bool all = task.batches <= 0 || task.batches > available / task.batch_sequences;
  return all ? 0 : task.batches * task.batch_sequences;
}

// A model with its memory, its weights loaded; the session watches it.
class LoadedModel {
 public:
  explicit LoadedModel(const RunEnvironment& environment)
      : environment_(environment), deadlines_(PaceSeconds{}, 1) {}
  ~LoadedModel() { environment_.session.Watch(nullptr); }
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  Status Load(const ModelSpec& spec, const std::string& weights, int64_t sequences, int64_t sequence_length,
              int64_t planned_bytes) {
    plan::TableOptions options;
    options.threads = environment_.device.capability().threads;
    TRAIND_ASSIGN(plan::MemoryTable table,
                  plan::BuildInferenceTable(spec, sequences, sequence_length, options));
    if (planned_bytes > 0 && table.arena_bytes > planned_bytes) {
      return Status(ErrorCode::INTERNAL,
                    fmt::format("{} bytes are needed; the plan says {}", table.arena_bytes, planned_bytes));
    }
    environment_.session.Doing("load", 0, deadlines_.Files());
    TRAIND_ASSIGN(arena_, environment_.device.AllocateArena(table.arena_bytes));
    TRAIND_ASSIGN(context_, ops::Context::Create(environment_.device));
    TRAIND_ASSIGN(
        model_, model::Model::Create(std::move(table), {arena_->data(), static_cast<size_t>(arena_->bytes())},
                                     *context_));
    environment_.session.Watch(&model_->completed_operators());
    const ModelState state{spec, model_->table().parameters, model_->weights(), {}, {}};
    return ReadWeights(environment_.io, weights, state, [this] { environment_.session.Advance(); });
  }

  // False if the session asks to stop.
  bool Border(const plan::Instruction& instruction) {
    if (environment_.session.Poll().stop) return false;
    environment_.session.Doing(plan::InstructionText(instruction), 0, deadlines_.Of(instruction.kind));
    return true;
  }

  model::Model* get() { return model_.get(); }
  Deadlines& deadlines() { return deadlines_; }

 private:
  const RunEnvironment& environment_;
  Deadlines deadlines_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<ops::Context> context_;
  std::unique_ptr<model::Model> model_;
};

Status CheckPrompt(const std::string& prompt, int64_t vocab_size) {
  for (size_t i = 0; i < prompt.size(); ++i) {
    const auto byte = static_cast<unsigned char>(prompt[i]);
    if (byte < vocab_size) continue;
    return Status(
        ErrorCode::TOKEN_OUT_OF_RANGE,
        fmt::format("the prompt's byte {} is token {}; the model's vocab_size is {}", i, byte, vocab_size));
  }
  return Ok();
}

}  // namespace

Result<Evaluation> Evaluate(const EvaluateTask& task, int64_t arena_bytes,
                            const RunEnvironment& environment) {
  LoadedModel model(environment);
  const DataRequest request{task.cache_directory, environment.unique, task.model.vocab_size,
                            task.sequence_length, model.deadlines().Files()};
  TRAIND_ASSIGN(const std::unique_ptr<HeldData> data,
                PrepareData(environment.io, task.data, "", request, &environment.session));
  TRAIND_TRY(model.Load(task.model, task.weights, task.batch_sequences, task.sequence_length, arena_bytes));
  const auto at_border = [&](int64_t micro_batch) -> Result<bool> {
    return model.Border({plan::InstructionKind::kValidate, 0, micro_batch});
  };
  TRAIND_ASSIGN(
      const std::optional<model::LossSum> sum,
      MeanLoss(*data->sequences, SequencesOf(task, data->sequences->count()), at_border, model.get()));
  if (!sum) return Interrupted();
  if (!std::isfinite(sum->sum)) {
    return Status(ErrorCode::NON_FINITE,
                  fmt::format("the loss on data '{}' is {}", task.data.name, sum->mean()),
                  "the version's weights are of no use; train it again with a lower learning_rate");
  }
  const DataCounts counts = data->counts();
  const double tokens_per_byte = static_cast<double>(counts.tokens) / static_cast<double>(counts.bytes);
  return Evaluation{sum->mean(), std::exp(sum->mean()), sum->mean() / std::numbers::ln2 * tokens_per_byte,
                    sum->tokens};
}

Result<std::string> Generate(const GenerateTask& task, int64_t arena_bytes,
                             const RunEnvironment& environment) {
  TRAIND_TRY(CheckPrompt(task.prompt, task.model.vocab_size));
  std::vector<int32_t> context;
  for (const char byte : task.prompt) context.push_back(static_cast<unsigned char>(byte));
  if (context.empty()) context.push_back(data::kEndOfText);  // a document begins after one
  const int64_t positions = task.model.max_position_embeddings;
  const int64_t needed = std::ssize(context) + std::min(task.max_tokens, positions);
  LoadedModel model(environment);
  TRAIND_TRY(model.Load(task.model, task.weights, 1, std::min(needed, positions), arena_bytes));
  TokenSampler sampler(task.temperature, task.seed);
  std::string text;
  for (int64_t i = 0; i < task.max_tokens; ++i) {
    if (!model.Border({plan::InstructionKind::kPredict, 0, 0})) return Interrupted();
    TRAIND_ASSIGN(const std::span<const float> logits, model.get()->Predict(context));
    // A vocabulary may be larger than the bytes; what lies beyond is no text.
    TRAIND_ASSIGN(const int32_t token,
                  sampler.Next(logits.first(std::min<size_t>(logits.size(), kByteValues))));
    if (token == data::kEndOfText) break;
    context.push_back(token);
    text.push_back(static_cast<char>(token));
  }
  return text;
}

}  // namespace traind::train
