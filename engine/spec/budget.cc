// Budget as JSON.
#include "engine/spec/budget.h"

#include <cmath>

#include "engine/spec/names.h"

namespace traind {
namespace {

constexpr spec::Named<LimitAction> kActions[] = {{LimitAction::kCheckpointAndStop, "CHECKPOINT AND STOP"},
                                                 {LimitAction::kPause, "PAUSE"},
                                                 {LimitAction::kWarn, "WARN"},
                                                 {LimitAction::kFail, "FAIL"}};

void PutTerm(Json* object, const char* key, const std::optional<double>& value) {
  if (value) (*object)[key] = *value;
}

Result<std::optional<double>> TakeTerm(const Json& object, std::string_view key) {
  if (!object.contains(std::string(key))) return std::optional<double>();
  TRAIND_ASSIGN(const double value, GetDouble(object, key));
  if (!std::isfinite(value) || value < 0) {
    return Status(ErrorCode::MALFORMED_FRAME, "the field '" + std::string(key) + "' must be a number from 0");
  }
  return std::optional<double>(value);
}

}  // namespace

std::string_view LimitActionName(LimitAction action) {
  return spec::NameOf(kActions, action);
}

Json BudgetToJson(const Budget& budget) {
  Json object = {{"action", LimitActionName(budget.action)}, {"action_explicit", budget.action_explicit}};
  PutTerm(&object, "wall_clock_seconds", budget.wall_clock_seconds);
  PutTerm(&object, "gpu_hours", budget.gpu_hours);
  PutTerm(&object, "deadline", budget.deadline);
  return object;
}

Result<Budget> BudgetFromJson(const Json& object) {
  Budget budget;
  TRAIND_ASSIGN(const std::string action, GetString(object, "action"));
  TRAIND_ASSIGN(budget.action,
                spec::ValueOf(kActions, action, ErrorCode::MALFORMED_FRAME, "action at a budget's limit"));
  TRAIND_ASSIGN(budget.action_explicit, GetBoolOr(object, "action_explicit", false));
  TRAIND_ASSIGN(budget.wall_clock_seconds, TakeTerm(object, "wall_clock_seconds"));
  TRAIND_ASSIGN(budget.gpu_hours, TakeTerm(object, "gpu_hours"));
  TRAIND_ASSIGN(budget.deadline, TakeTerm(object, "deadline"));
  return budget;
}

}  // namespace traind
