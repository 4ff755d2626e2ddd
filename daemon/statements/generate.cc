// GENERATE: a version's continuation of a text, made by a worker.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/bind/options.h"
#include "daemon/bind/values.h"
#include "daemon/statements/inference.h"
#include "daemon/statements/statements.h"
#include "engine/spec/task.h"

namespace traind::daemon {
namespace {

Result<BoundOption> OptionOrDefault(const BoundOptions& options, std::string_view name) {
  if (const BoundOption* option = options.Find(name)) return *option;
  const OptionInfo* info = FindOption(OptionList::kGenerate, name);
  grammar::Value value;
  value.text = info->default_text;
  return BindOption(*info, &value, {});
}

Result<std::string> BindPrompt(const grammar::Value& prompt) {
  TRAIND_ASSIGN(std::string text, BindText(prompt, "PROMPT"));
  if (text.find('\0') != std::string::npos) {
    return Status(ErrorCode::FORBIDDEN_BYTE,
                  "the prompt holds a NUL, which is the end-of-text of the byte tokenizer")
        .At(prompt.position);
  }
  return text;
}

}  // namespace

Result<Outcome> Run(const grammar::Generate& statement, const Context& context) {
  TRAIND_ASSIGN(const BoundOptions options, BindOptions(OptionList::kGenerate, statement.using_options));
  GenerateTask task;
  TRAIND_ASSIGN(task.prompt, BindPrompt(statement.prompt));
  TRAIND_ASSIGN(const BoundOption max_tokens, OptionOrDefault(options, "max_tokens"));
  TRAIND_ASSIGN(const BoundOption temperature, OptionOrDefault(options, "temperature"));
  TRAIND_ASSIGN(const BoundOption seed, OptionOrDefault(options, "seed"));
  task.max_tokens = max_tokens.integer;
  task.temperature = temperature.real;
  task.seed = seed.integer;
  TRAIND_ASSIGN(const InferenceModel inference, BindInferenceModel(statement.model, context));
  task.model = inference.model.spec;
  task.weights = inference.weights;
  const int64_t wanted = static_cast<int64_t>(task.prompt.size()) + task.max_tokens;
  const int64_t sequence = std::clamp<int64_t>(wanted, 1, task.model.max_position_embeddings);
  TRAIND_ASSIGN(const plan::Plan plan, PlanForward(task.model, sequence, 1, statement.position, context));
  task.plan = plan::PlanToJson(plan);
  if (context.check) return Done(Reply{});
  return Done(WorkerOutcome{GenerateTaskToJson(task)});
}

}  // namespace traind::daemon
