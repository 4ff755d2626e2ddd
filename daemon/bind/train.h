// TRAIN bound: what it names, looked up; how it learns; where it may run; and its plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/bind/data.h"
#include "daemon/bind/hardware.h"
#include "daemon/bind/model.h"
#include "daemon/bind/training.h"
#include "daemon/statement.h"
#include "engine/base/status.h"
#include "engine/plan/planner.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct BoundTrain {
  TrainingDraft draft;
  ModelRecord model;                  // whose weights it starts from
  std::string target_name;            // whose next version it makes
  std::optional<ModelRecord> target;  // absent: INTO makes it, with the model's specification
  int64_t from_version = 0;           // 0: from scratch
  std::string resume_checkpoint;      // a checkpoint's directory
  int64_t start_step = 0;             // of that checkpoint
  BoundTraining training;
  BoundMixture data;
  std::optional<BoundMixture> validation;
  bool tokens_exact = false;  // the data has been counted, not estimated from the files' sizes
  BoundHardware hardware;
  plan::PlanChoice choice;

  // The version it will publish.
  int64_t to_version() const { return (target ? target->newest_version : 0) + 1; }
};

// Everything but the plan. Errors of the text itself come first, then those of names, then those of sizes.
Result<BoundTrain> BindTrain(const grammar::Train& statement, const Context& context);
// The plan: NO_FEASIBLE_PLAN at TRAIN, BUDGET_TOO_SMALL at the budget.
Status PlanTrain(const grammar::Train& statement, const Context& context, BoundTrain* train);

// The statement in canonical form without IF NOT EXISTS, WAIT and DETACH, file patterns absolute: two
// submissions with an equal one ask for the same.
Result<std::string> CanonicalTrain(const grammar::Train& statement, const Context& context);

}  // namespace traind::daemon
