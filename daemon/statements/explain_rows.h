// A plan for people: rows of section, item, value; and as a stable JSON object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/jobs/jobs.h"
#include "daemon/statement.h"
#include "engine/plan/planner.h"

namespace traind::daemon {

class ExplainRows {
 public:
  ExplainRows& Add(std::string_view section, std::string_view item, std::string value);
  // The plan itself, its memory by class and its step's times.
  ExplainRows& AddPlan(const plan::Plan& plan);
  // Steps, end, hours, cost, disk; `approximate` marks what follows from an estimate with ~.
  ExplainRows& AddRun(const plan::Plan& plan, bool approximate, double now);
  ExplainRows& AddRejected(const std::vector<plan::RejectedPlan>& rejected);
  ExplainRows& AddBudget(const std::vector<plan::Headroom>& budget);
  ExplainRows& AddSettings(const std::vector<JobSetting>& settings);
  Reply Take() { return std::move(reply_); }

 private:
  Reply reply_{{{"section", "text"}, {"item", "text"}, {"value", "text"}}, {}, {}, {}};
};

// "micro_batch 4 x 2, gradient_accumulation"
std::string StrategyText(const plan::Strategy& strategy);

Json RejectedToJson(const std::vector<plan::RejectedPlan>& rejected);
Json HeadroomToJson(const std::vector<plan::Headroom>& budget);
Json SettingsToJson(const std::vector<JobSetting>& settings);

}  // namespace traind::daemon
