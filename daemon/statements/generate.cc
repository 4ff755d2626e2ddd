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

// What a tokenizer may put before a text.
constexpr int64_t kMostPrefixTokens = 8;

Status CheckPrompt(const std::string& text, const ModelSpec& model, SourcePosition position) {
  if (model.tokenizer_id == 0 && text.find('\0') != std::string::npos) {
    return Status(ErrorCode::FORBIDDEN_BYTE,
                  "the prompt holds a NUL, which is the end-of-text of the byte tokenizer")
        .At(position);
  }
  return {};
}

// Strings of the language have no escapes, and a stop string is often the end of a line.
std::string Unescape(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const char meant = next == 'n' ? '\n' : next == 't' ? '\t' : next == '\\' ? '\\' : '\0';
    plain += meant == '\0' ? text[i] : meant;
    if (meant != '\0') ++i;
  }
  return plain;
}

}  // namespace

Result<Outcome> Run(const grammar::Generate& statement, const Context& context) {
  TRAIND_ASSIGN(const BoundOptions options, BindOptions(OptionList::kGenerate, statement.using_options));
  GenerateTask task;
  TRAIND_ASSIGN(task.prompt, BindText(statement.prompt, "PROMPT"));
  TRAIND_ASSIGN(const BoundOption max_tokens, OptionOrDefault(options, "max_tokens"));
  TRAIND_ASSIGN(const BoundOption temperature, OptionOrDefault(options, "temperature"));
  TRAIND_ASSIGN(const BoundOption top_k, OptionOrDefault(options, "top_k"));
  TRAIND_ASSIGN(const BoundOption top_p, OptionOrDefault(options, "top_p"));
  TRAIND_ASSIGN(const BoundOption stop, OptionOrDefault(options, "stop"));
  TRAIND_ASSIGN(const BoundOption seed, OptionOrDefault(options, "seed"));
  task.max_tokens = max_tokens.integer;
  task.temperature = temperature.real;
  task.seed = seed.integer;
  task.top_k = top_k.integer;
  task.top_p = top_p.real;
  task.stop = Unescape(stop.text);
  TRAIND_ASSIGN(const InferenceModel inference, BindInferenceModel(statement.model, context));
  task.model = inference.model.spec;
  task.tokenizer = inference.tokenizer;
  task.weights = inference.weights;
  TRAIND_TRY(CheckPrompt(task.prompt, task.model, statement.prompt.position));
  // No tokenizer makes more tokens of a text than it has bytes.
  const int64_t prefix = task.model.tokenizer_id == 0 ? 0 : kMostPrefixTokens;
  const int64_t wanted = static_cast<int64_t>(task.prompt.size()) + prefix + task.max_tokens;
  task.context = std::clamp<int64_t>(wanted, 1, task.model.max_position_embeddings);
  TRAIND_ASSIGN(const plan::Plan plan,
                PlanOnOneDevice(statement.position, context, [&](const DeviceSpec& device) {
                  return plan::PlanGeneration(task.model, device, task.context);
                }));
  task.plan = plan::PlanToJson(plan);
  if (context.check) return Done(Reply{});
  return Done(WorkerOutcome{GenerateTaskToJson(task), nullptr});
}

}  // namespace traind::daemon
