// Budgets of statements.
#pragma once

#include "engine/base/status.h"
#include "engine/spec/budget.h"
#include "grammar/ast.h"

namespace traind::daemon {

// UNKNOWN_BUDGET_TERM and DUPLICATE_OPTION at the term; WRONG_UNIT at the limit, also for a short form whose
// unit names no term; INVALID_OPTION at the limit.
Result<Budget> BindBudget(const grammar::BudgetClause& clause);

}  // namespace traind::daemon
