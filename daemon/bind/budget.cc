// Budgets of statements.
#include "daemon/bind/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/bind/values.h"
#include "engine/base/clock.h"
#include "engine/base/nearest.h"

namespace traind::daemon {
namespace {

using grammar::BudgetClause;
using grammar::BudgetTerm;

struct TermInfo {
  std::string_view name;
  std::optional<double> Budget::*field;
  Dimension dimension;
};
constexpr TermInfo kTerms[] = {
    {"wall_clock", &Budget::wall_clock_seconds, Dimension::kSeconds},
    {"gpu_hours", &Budget::gpu_hours, Dimension::kGpuHours},
    {grammar::kDeadlineTerm, &Budget::deadline, Dimension::kSeconds},
};
constexpr std::string_view kKnown = "wall_clock <= 4h, gpu_hours <= 8, DEADLINE '2026-12-03 08:00'";

struct ActionInfo {
  BudgetClause::Action written;
  LimitAction action;
};
constexpr ActionInfo kActions[] = {
    {BudgetClause::Action::kDefault, LimitAction::kCheckpointAndStop},
    {BudgetClause::Action::kCheckpointAndStop, LimitAction::kCheckpointAndStop},
    {BudgetClause::Action::kPause, LimitAction::kPause},
    {BudgetClause::Action::kWarn, LimitAction::kWarn},
    {BudgetClause::Action::kFail, LimitAction::kFail},
};

Status UnknownTerm(const grammar::Name& term) {
  std::vector<std::string_view> names;
  for (const TermInfo& info : kTerms) names.push_back(info.name);
  const std::string nearest = NearestWord(term.text, std::span<const std::string_view>(names));
  return Status(ErrorCode::UNKNOWN_BUDGET_TERM, fmt::format("a budget has no term {}", term.text),
                nearest.empty() ? fmt::format("known: {}", kKnown)
                                : fmt::format("did you mean {}? Known: {}", nearest, kKnown))
      .At(term.position);
}

Result<const TermInfo*> TermOf(const BudgetTerm& term) {
  if (term.term) {
    const auto* info = std::ranges::find(kTerms, term.term->text, &TermInfo::name);
    if (info == std::end(kTerms)) return UnknownTerm(*term.term);
    return info;
  }
  Quantity quantity = term.limit.quantity;
  if (term.limit.kind == grammar::Value::Kind::kString) {
    const auto read = ParseQuantity(term.limit.text);
    if (read.ok()) quantity = *read;
  }
  if (quantity.dimension == Dimension::kSeconds) return &kTerms[0];
  if (quantity.dimension == Dimension::kGpuHours) return &kTerms[1];
  return Status(ErrorCode::WRONG_UNIT,
                fmt::format("a budget's short form is a duration or gpu_hours, not {}",
                            DescribeValue(term.limit)),
                "WITH BUDGET 4h, or WITH BUDGET 8gpu_hours")
      .At(term.limit.position);
}

// gpu_hours may be a plain number: its name is its unit.
Result<double> LimitOf(const TermInfo& info, const grammar::Value& limit) {
  if (info.field == &Budget::deadline) {
    TRAIND_ASSIGN(const std::string text, BindText(limit, "DEADLINE"));
    auto time = ParseTime(text);
    if (!time.ok()) return time.status().At(limit.position);
    return *time;
  }
  const bool plain =
      limit.kind == grammar::Value::Kind::kQuantity && limit.quantity.dimension == Dimension::kNumber;
  const Dimension dimension =
      plain && info.dimension == Dimension::kGpuHours ? Dimension::kNumber : info.dimension;
  TRAIND_ASSIGN(const Quantity quantity, BindQuantity(limit, dimension, info.name));
  if (quantity.value > 0) return quantity.value;
  return Status(ErrorCode::INVALID_OPTION, fmt::format("{} must be above 0", info.name)).At(limit.position);
}

}  // namespace

Result<Budget> BindBudget(const BudgetClause& clause) {
  Budget budget;
  for (const BudgetTerm& term : clause.terms) {
    TRAIND_ASSIGN(const TermInfo* info, TermOf(term));
    if (budget.*info->field) {
      return Status(ErrorCode::DUPLICATE_OPTION, fmt::format("{} is given twice", info->name))
          .At(term.term ? term.term->position : term.limit.position);
    }
    TRAIND_ASSIGN(budget.*info->field, LimitOf(*info, term.limit));
  }
  budget.action = std::ranges::find(kActions, clause.action, &ActionInfo::written)->action;
  budget.action_explicit = clause.action != BudgetClause::Action::kDefault;
  return budget;
}

}  // namespace traind::daemon
