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
#include "engine/train/text_output.h"
#include "engine/train/training_data.h"

namespace traind::train {
namespace {

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

  Status Load(plan::MemoryTable table, const std::string& weights, int64_t planned_bytes) {
    const ModelSpec spec = table.model;
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

// A prompt's tokens. A document begins after an end-of-text.
Result<std::vector<int32_t>> EncodePrompt(const data::Tokenizer& tokenizer, const std::string& prompt,
                                          int64_t vocab_size) {
  std::vector<int32_t> tokens(tokenizer.prefix().begin(), tokenizer.prefix().end());
  TRAIND_TRY(tokenizer.Encode(prompt, &tokens));
  if (tokens.empty()) tokens.push_back(tokenizer.end_of_text());
  for (const int32_t token : tokens) {
    if (token < vocab_size) continue;
    return Status(
        ErrorCode::TOKEN_OUT_OF_RANGE,
        fmt::format("token {} of the prompt is not below the model's vocab_size {}", token, vocab_size));
  }
  return tokens;
}

}  // namespace

Result<Evaluation> Evaluate(const EvaluateTask& task, int64_t arena_bytes,
                            const RunEnvironment& environment) {
  LoadedModel model(environment);
  TRAIND_ASSIGN(const std::unique_ptr<data::Tokenizer> tokenizer,
                data::OpenTokenizer(environment.io, task.tokenizer));
  DataRequest request;
  request.cache_directory = task.cache_directory;
  request.unique = environment.unique;
  request.tokenizer = tokenizer.get();
  request.vocab_size = task.model.vocab_size;
  request.sequence_length = task.sequence_length;
  request.threads = environment.device.capability().threads;
  request.deadline_seconds = model.deadlines().Files();
  TRAIND_ASSIGN(const std::unique_ptr<HeldData> data,
                PrepareData(environment.io, task.data, "", request, &environment.session));
  plan::TableOptions options;
  options.threads = environment.device.capability().threads;
  TRAIND_ASSIGN(plan::MemoryTable table,
                plan::BuildInferenceTable(task.model, task.batch_sequences, task.sequence_length, options));
  TRAIND_TRY(model.Load(std::move(table), task.weights, arena_bytes));
  const auto at_border = [&](int64_t micro_batch) -> Result<bool> {
    return model.Border({plan::InstructionKind::kValidate, 0, micro_batch});
  };
  TRAIND_ASSIGN(const std::optional<model::LossSum> sum,
                MeanLoss(*data->sequences, data->weights, SequencesOf(task, data->sequences->count()),
                         at_border, model.get()));
  if (!sum) return Interrupted();
  if (!std::isfinite(sum->sum)) {
    return Status(ErrorCode::NON_FINITE,
                  fmt::format("the loss on data '{}' is {}", task.data.name, sum->mean()),
                  "the version's weights are of no use; train it again with a lower learning_rate");
  }
  const DataCounts counts = data->counts();
  // Data that came as tokens has no bytes of text: not a number, which replies show as nothing.
  const double tokens_per_byte = static_cast<double>(counts.Total(&SourceCounts::tokens)) /
                                 static_cast<double>(counts.Total(&SourceCounts::text_bytes));
  return Evaluation{sum->mean(), std::exp(sum->mean()), sum->mean() / std::numbers::ln2 * tokens_per_byte,
                    sum->tokens, sum->tokens / task.sequence_length};
}

namespace {

// The tokens that count, of which the first are in the model's cache.
class Window {
 public:
  // Of too long a text the end is kept, so that there is room for as many tokens as are wanted, or for half
  // of the window.
  Window(std::vector<int32_t> tokens, int64_t capacity, int64_t wanted)
      : tokens_(std::move(tokens)), capacity_(capacity) {
    if (std::ssize(tokens_) > capacity) {
      Keep(std::max<int64_t>(1, capacity - std::min(wanted, capacity / 2)));
      cut_prompt_ = true;
    }
  }

  void Add(int32_t token) {
    tokens_.push_back(token);
    if (std::ssize(tokens_) <= capacity_) return;
    Keep(std::max<int64_t>(1, capacity_ / 2));
    slid_ = true;
  }

  // What the model has not seen yet, at most `most` tokens; the first of them has position cached().
  std::span<const int32_t> Unseen(int64_t most) const {
    const std::span<const int32_t> rest = std::span(tokens_).subspan(static_cast<size_t>(cached_));
    return rest.first(std::min(rest.size(), static_cast<size_t>(most)));
  }
  int64_t cached() const { return cached_; }
  void Saw(std::span<const int32_t> tokens) { cached_ += std::ssize(tokens); }

  std::vector<std::string> Notices() const {
    std::vector<std::string> notices;
    if (cut_prompt_) {
      notices.push_back(
          fmt::format("the prompt is longer than the model's {} positions: only its end counted", capacity_));
    }
    if (slid_) {
      notices.push_back(
          fmt::format("the text is longer than the model's {} positions: its older half was forgotten each "
                      "time they were "
                      "full",
                      capacity_));
    }
    return notices;
  }

 private:
  void Keep(int64_t count) {
    tokens_.erase(tokens_.begin(), tokens_.end() - count);
    cached_ = 0;
  }

  std::vector<int32_t> tokens_;
  const int64_t capacity_;
  int64_t cached_ = 0;
  bool cut_prompt_ = false;
  bool slid_ = false;
};

// The logits after the window's last token; nullopt if the session asks to stop.
Result<std::optional<std::span<const float>>> Predict(LoadedModel* model, Window* window) {
  std::span<const float> logits;
  for (;;) {
    const std::span<const int32_t> tokens = window->Unseen(model->get()->table().sequence_length);
    if (tokens.empty()) return std::optional(logits);
    if (!model->Border({plan::InstructionKind::kPredict, 0, 0})) {
      return std::optional<std::span<const float>>();
    }
    TRAIND_ASSIGN(logits, model->get()->Predict(tokens, window->cached()));
    window->Saw(tokens);
  }
}

}  // namespace

Result<Generation> Generate(const GenerateTask& task, int64_t arena_bytes,
                            const RunEnvironment& environment) {
  TRAIND_ASSIGN(const std::unique_ptr<data::Tokenizer> tokenizer,
                data::OpenTokenizer(environment.io, task.tokenizer));
  TRAIND_ASSIGN(std::vector<int32_t> prompt, EncodePrompt(*tokenizer, task.prompt, task.model.vocab_size));
  const auto known = static_cast<size_t>(std::min(tokenizer->vocab_size(), task.model.vocab_size));
  LoadedModel model(environment);
  plan::TableOptions options;
  options.threads = environment.device.capability().threads;
  TRAIND_ASSIGN(plan::MemoryTable table, plan::BuildGenerationTable(task.model, task.context, options));
  TRAIND_TRY(model.Load(std::move(table), task.weights, arena_bytes));
  Window window(std::move(prompt), task.context, task.max_tokens);
  TokenSampler sampler({task.temperature, task.top_k, task.top_p, task.seed});
  TextOutput output(task.stop);
  for (int64_t i = 0; i < task.max_tokens; ++i) {
    TRAIND_ASSIGN(const auto logits, Predict(&model, &window));
    if (!logits) return Interrupted();
    // A vocabulary may be larger than the tokenizer's; what lies beyond is no text.
    TRAIND_ASSIGN(const int32_t token, sampler.Next(logits->first(known)));
    if (token == tokenizer->end_of_text()) break;
    if (!tokenizer->IsSpecial(token) && output.Add(tokenizer->BytesOf(token))) break;
    window.Add(token);
    environment.session.Text(output.settled());
  }
  return Generation{output.text(), window.Notices()};
}

}  // namespace traind::train
