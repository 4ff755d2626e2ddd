// EXPORT MODEL: a version becomes a Hugging Face directory, written by a worker.
#include <fmt/format.h>

#include "daemon/bind/path.h"
#include "daemon/statements/inference.h"
#include "daemon/statements/statements.h"
#include "engine/spec/task.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::ExportModel& statement, const Context& context) {
  if (statement.format.text != "safetensors") {
    return Status(ErrorCode::UNKNOWN_FORMAT,
                  fmt::format("a model is not written as '{}'", statement.format.text), "known: safetensors")
        .At(statement.format.position);
  }
  TRAIND_ASSIGN(const InferenceModel version, BindInferenceModel(statement.model, context));
  ExportTask task;
  task.model = version.model.spec;
  task.weights = version.weights;
  task.tokenizer = version.tokenizer;
  TRAIND_ASSIGN(task.target, BindPath(statement.directory, "TO", context));
  const std::string& state = context.daemon.state_directory;
  if (task.target == state || task.target.starts_with(state + "/")) {
    return Status(ErrorCode::FORBIDDEN_PATH, fmt::format("{} lies in traind's own directory", task.target),
                  "name a directory elsewhere")
        .At(statement.directory.position);
  }
  if (context.check) return Done(Reply{});
  return Done(WorkerOutcome{ExportTaskToJson(task)});
}

}  // namespace traind::daemon
