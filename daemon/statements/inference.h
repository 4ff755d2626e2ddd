// What EVALUATE and GENERATE share: the version, and a plan for a worker that only runs forward.
#pragma once

#include <functional>
#include <string>

#include "daemon/catalog/models.h"
#include "daemon/statement.h"
#include "engine/base/status.h"
#include "engine/plan/planner.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct InferenceModel {
  ModelRecord model;
  std::string weights;    // the version's directory
  std::string tokenizer;  // its directory; empty for bytes
};

// NO_SUCH_VERSION also for a model that has none yet.
Result<InferenceModel> BindInferenceModel(const grammar::ModelRef& ref, const Context& context);

// The plan that `make` makes for the first device where it fits beside what runs now; else its error, at
// `position`.
Result<plan::Plan> PlanOnOneDevice(SourcePosition position, const Context& context,
                                   const std::function<Result<plan::Plan>(const DeviceSpec& device)>& make);

}  // namespace traind::daemon
