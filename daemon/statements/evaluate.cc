// EVALUATE: a version's loss on data, measured by a worker.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/bind/data.h"
#include "daemon/bind/options.h"
#include "daemon/statements/inference.h"
#include "daemon/statements/statements.h"
#include "engine/spec/task.h"

namespace traind::daemon {
namespace {

constexpr int64_t kDefaultSequence = 1024;
constexpr int64_t kDefaultBatchTokens = 8192;

int64_t Given(const BoundOptions& options, std::string_view name, int64_t otherwise) {
  const BoundOption* option = options.Find(name);
  return option == nullptr ? otherwise : option->integer;
}

Status BindSizes(const grammar::Evaluate& statement, const BoundOptions& options, EvaluateTask* task) {
  const int64_t longest = task->model.max_position_embeddings;
  task->batches = Given(options, "batches", 0);
  task->sequence_length = Given(options, "sequence_length", std::min(longest, kDefaultSequence));
  if (task->sequence_length > longest) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("sequence_length is {}; the model's max_position_embeddings is {}",
                              task->sequence_length, longest))
        .At(options.KeyPosition("sequence_length", statement.position));
  }
  const int64_t tokens =
      Given(options, "batch_tokens",
            std::max<int64_t>(1, kDefaultBatchTokens / task->sequence_length) * task->sequence_length);
  if (tokens % task->sequence_length != 0) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("batch_tokens {} is not a multiple of sequence_length {}", tokens,
                              task->sequence_length))
        .At(options.KeyPosition("batch_tokens", statement.position));
  }
  task->batch_sequences = tokens / task->sequence_length;
  return {};
}

Status CheckLength(const BoundData& data, int64_t sequence_length) {
  if (data.MostOfFiles() > sequence_length) return {};
  return Status(ErrorCode::DATA_TOO_SHORT,
                fmt::format("{} has at most {} tokens; one sequence needs {}", data.spec.name,
                            data.MostOfFiles(), sequence_length + 1))
      .At(data.position);
}

}  // namespace

Result<Outcome> Run(const grammar::Evaluate& statement, const Context& context) {
  TRAIND_ASSIGN(const BoundOptions options, BindOptions(OptionList::kEvaluate, statement.using_options));
  TRAIND_ASSIGN(const InferenceModel inference, BindInferenceModel(statement.model, context));
  EvaluateTask task;
  task.model = inference.model.spec;
  task.weights = inference.weights;
  TRAIND_TRY(BindSizes(statement, options, &task));
  TRAIND_ASSIGN(const BoundData data, BindSource(statement.source, context));
  TRAIND_TRY(CheckLength(data, task.sequence_length));
  task.data = data.spec;
  task.tokenizer = inference.tokenizer;
  task.cache_directory = context.daemon.state_directory + "/cache";
  TRAIND_ASSIGN(const plan::Plan plan,
                PlanOnOneDevice(statement.position, context, [&](const DeviceSpec& device) {
                  return plan::PlanInference(task.model, device, task.sequence_length, task.batch_sequences);
                }));
  task.plan = plan::PlanToJson(plan);
  if (context.check) return Done(Reply{});
  return Done(WorkerOutcome{EvaluateTaskToJson(task), nullptr});
}

}  // namespace traind::daemon
