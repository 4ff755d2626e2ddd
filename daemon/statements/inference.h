// What EVALUATE and GENERATE share: the version, and a plan for a worker that only runs forward.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/catalog/models.h"
#include "daemon/statement.h"
#include "engine/base/status.h"
#include "engine/plan/planner.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct InferenceModel {
  ModelRecord model;
  std::string weights;  // the version's directory
};

// NO_SUCH_VERSION also for a model that has none yet.
Result<InferenceModel> BindInferenceModel(const grammar::ModelRef& ref, const Context& context);

// NO_FEASIBLE_PLAN at `position` if the worker would not fit beside what runs now.
Result<plan::Plan> PlanForward(const ModelSpec& model, int64_t sequence_length, int64_t sequences,
                               SourcePosition position, const Context& context);

}  // namespace traind::daemon
