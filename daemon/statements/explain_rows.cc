// A plan for people: rows of section, item, value; and as a stable JSON object.
#include "daemon/statements/explain_rows.h"

#include <fmt/format.h>

#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

std::string DeviceText(const DeviceSpec& device) {
  return fmt::format("{}:{} ({}{}{}, {} thread{})", device.node, device.index,
                     device.name.empty() ? device.type : device.name,
                     device.instruction_set.empty() ? "" : ", ", device.instruction_set, device.threads,
                     device.threads == 1 ? "" : "s");
}

std::string Bytes(int64_t bytes) {
  return FormatBytes(static_cast<double>(bytes));
}

std::string Milliseconds(double seconds) {
  return fmt::format("{:.3f} ms", seconds * 1000);
}

}  // namespace

std::string StrategyText(const plan::Strategy& strategy) {
  return fmt::format("micro_batch {} x {}, {}, recompute {}", strategy.micro_batch, strategy.micro_batches,
                     strategy.schedule, plan::RecomputeName(strategy.recompute));
}

ExplainRows& ExplainRows::Add(std::string_view section, std::string_view item, std::string value) {
  reply_.rows.push_back({std::string(section), std::string(item), std::move(value)});
  return *this;
}

ExplainRows& ExplainRows::AddPlan(const plan::Plan& plan) {
  Add("plan", "devices", DeviceText(plan.device));
  Add("plan", "strategy", StrategyText(plan.strategy));
  Add("plan", "hash", plan.hash);
  for (const plan::ClassBytes& part : plan.memory) Add("memory", part.memory_class, Bytes(part.bytes));
  Add("memory", "arena", Bytes(plan.arena_bytes));
  Add("memory", "predicted_peak", Bytes(plan.predicted_peak_bytes));
  Add("step", "compute", Milliseconds(plan.compute_seconds));
  Add("step", "communication", Milliseconds(plan.communication_seconds));
  Add("step", "bubble", Milliseconds(plan.bubble_seconds));
  return Add("step", "predicted", Milliseconds(plan.step_seconds));
}

ExplainRows& ExplainRows::AddRun(const plan::Plan& plan, bool approximate, double now) {
  const std::string about = approximate ? "~" : "";
  Add("run", "total_steps",
      plan.total_steps ? fmt::format("{}{}", about, *plan.total_steps)
                       : std::string("~ (known once the data is tokenised)"));
  if (plan.run_seconds > 0) {
    Add("run", "time", about + FormatDuration(plan.run_seconds));
    Add("run", "end", fmt::format("{}{} if it starts now", about, FormatTime(now + plan.run_seconds)));
    Add("run", "gpu_hours", fmt::format("{}{:.4f}", about, plan.gpu_hours));
    Add("run", "cost", fmt::format("{}{:.2f} USD", about, plan.cost));
  }
  Add("run", "one checkpoint",
      fmt::format("{}, {}", Bytes(plan.checkpoint_bytes), FormatDuration(plan.checkpoint_seconds)));
  Add("run", "checkpoints",
      plan.strategy.snapshot
          ? std::string("background: a snapshot in memory, written while training goes on")
          : fmt::format("no memory for a snapshot: written during a step, whose update waits about {} for it",
                        FormatDuration(plan.checkpoint_stall_seconds)));
  if (plan.validation_seconds > 0) Add("run", "one validation", FormatDuration(plan.validation_seconds));
  return Add("run", "disk", Bytes(plan.disk_bytes));
}

ExplainRows& ExplainRows::AddRejected(const std::vector<plan::RejectedPlan>& rejected) {
  for (const plan::RejectedPlan& plan : rejected) {
    Add("rejected", fmt::format("{} on {}", StrategyText(plan.strategy), plan.device),
        fmt::format("{} (predicted: {}, {} a step)", plan.reason, Bytes(plan.peak_bytes),
                    FormatDuration(plan.step_seconds)));
  }
  return *this;
}

ExplainRows& ExplainRows::AddBudget(const std::vector<plan::Headroom>& budget) {
  for (const plan::Headroom& term : budget) {
    Add("budget", term.term,
        fmt::format("limit {}, predicted {}, headroom {}{}", term.limit, term.predicted, term.headroom,
                    term.broken ? " (broken)" : ""));
  }
  return *this;
}

ExplainRows& ExplainRows::AddSettings(const std::vector<JobSetting>& settings) {
  for (const JobSetting& setting : settings) {
    Add("setting", setting.name, fmt::format("{} ({})", setting.value, setting.source));
  }
  return *this;
}

Json RejectedToJson(const std::vector<plan::RejectedPlan>& rejected) {
  Json list = Json::array();
  for (const plan::RejectedPlan& plan : rejected) {
    list.push_back({{"micro_batch", plan.strategy.micro_batch},
                    {"micro_batches", plan.strategy.micro_batches},
                    {"schedule", plan.strategy.schedule},
                    {"recompute", plan::RecomputeName(plan.strategy.recompute)},
                    {"device", plan.device},
                    {"reason", plan.reason},
                    {"peak_bytes", plan.peak_bytes},
                    {"step_seconds", plan.step_seconds}});
  }
  return list;
}

Json HeadroomToJson(const std::vector<plan::Headroom>& budget) {
  Json list = Json::array();
  for (const plan::Headroom& term : budget) {
    list.push_back({{"term", term.term},
                    {"limit", term.limit},
                    {"predicted", term.predicted},
                    {"headroom", term.headroom},
                    {"broken", term.broken}});
  }
  return list;
}

Json SettingsToJson(const std::vector<JobSetting>& settings) {
  Json list = Json::array();
  for (const JobSetting& setting : settings) {
    list.push_back({{"name", setting.name}, {"value", setting.value}, {"source", setting.source}});
  }
  return list;
}

}  // namespace traind::daemon
