// A budget against a prediction: headroom by term, the term that binds, and the smallest budget that would
// do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/planner.h"

namespace traind::plan {

// Seconds that the budget leaves for this and later attempts; nullopt for an empty budget. The least of its
// terms: wall_clock and gpu_hours less what was used, DEADLINE less now. May be negative.
std::optional<double> SecondsLeft(const Budget& budget, double used_seconds, double now);

// One row for each term that is set. `run_seconds`: predicted, of what is still to do; nullopt: unknown yet.
std::vector<Headroom> HeadroomOf(const Budget& budget, double used_seconds, double now,
                                 std::optional<double> run_seconds);

// BUDGET_TOO_SMALL if `run_seconds` breaks a term: names the one that binds, the smallest that would do, and
// the plan.
Status CheckBudget(const PlanRequest& request, const Plan& plan, double run_seconds);

}  // namespace traind::plan
