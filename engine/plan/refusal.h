// What to say when nothing fits: how much is missing, and what would help.
#pragma once

#include <vector>

#include "engine/base/status.h"
#include "engine/plan/candidates.h"
#include "engine/plan/planner.h"

namespace traind::plan {

// NO_FEASIBLE_PLAN for a request none of whose candidates fits its device. `candidates` may be empty: then
// the model is deeper than any table, or there is no device.
Status RefuseMemory(const PlanRequest& request, const std::vector<Candidate>& candidates);

// NO_FEASIBLE_PLAN for a worker that only evaluates or generates.
Status RefuseInference(const Plan& plan, int64_t parameters);

}  // namespace traind::plan
