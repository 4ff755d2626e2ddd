// Budget: what a run may spend, and what happens at the limit.
#pragma once

#include <optional>
#include <string_view>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {

enum class LimitAction { kCheckpointAndStop, kPause, kWarn, kFail };

struct Budget {
  std::optional<double> wall_clock_seconds;  // PREPARING and RUNNING, restarts included
  std::optional<double> gpu_hours;           // allocated devices × hours
  std::optional<double> deadline;            // seconds since 1970 UTC
  LimitAction action = LimitAction::kCheckpointAndStop;
  bool action_explicit = false;  // ELSE was written: admit although the prediction breaks it

  bool empty() const { return !wall_clock_seconds && !gpu_hours && !deadline; }
  bool operator==(const Budget&) const = default;
};

std::string_view LimitActionName(LimitAction action);  // "CHECKPOINT AND STOP" …

Json BudgetToJson(const Budget& budget);
Result<Budget> BudgetFromJson(const Json& object);

}  // namespace traind
