// EXPLAIN JOB: the plan and the settings of a job.
#include <fmt/format.h>

#include "daemon/bind/job.h"
#include "daemon/statements/common.h"
#include "daemon/statements/explain_rows.h"
#include "daemon/statements/statements.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

void AddBudget(const JobRecord& job, ExplainRows* rows) {
  const Budget& budget = job.budget;
  if (budget.wall_clock_seconds) {
    rows->Add("budget", "wall_clock",
              fmt::format("{} used of {}", FormatDuration(job.used_seconds),
                          FormatDuration(*budget.wall_clock_seconds)));
  }
  if (budget.gpu_hours) {
    rows->Add("budget", "gpu_hours",
              fmt::format("{:.4f} used of {:.4f}", job.gpu_seconds / 3600, *budget.gpu_hours));
  }
  if (budget.deadline) rows->Add("budget", "DEADLINE", FormatTime(*budget.deadline));
}

}  // namespace

Result<Outcome> Run(const grammar::ExplainJob& statement, const Context& context) {
  TRAIND_ASSIGN(const int64_t id, FindJob(statement.job, context));
  if (id == kCheckedJob) return Done(Reply{});
  TRAIND_ASSIGN(const JobRecord job, LoadJob(context.reader, id));
  TRAIND_ASSIGN(const plan::Plan plan, plan::PlanFromJson(job.plan));
  TRAIND_ASSIGN(const std::vector<JobSetting> settings, LoadSettings(context.reader, id));
  if (context.check) return Done(Reply{});
  ExplainRows rows;
  rows.Add("job", "state",
           job.reason.empty() ? std::string(JobStateName(job.state))
                              : fmt::format("{}: {}", JobStateName(job.state), job.reason));
  rows.Add("job", "statement", job.statement);
  rows.Add("job", "saved step", std::to_string(job.step));
  rows.Add(
      "model", "from",
      job.from_version == 0 ? std::string("scratch") : fmt::format("{}@{}", job.model, job.from_version));
  rows.Add("model", "to",
           job.to_version ? fmt::format("{}@{}", job.target_model, *job.to_version) : job.target_model);
  rows.Add("data", "train", job.data.Name());
  if (job.validation) rows.Add("data", "validate", job.validation->Name());
  rows.AddPlan(plan);
  rows.AddRun(plan, false, job.started_at.value_or(Now(context)));
  AddBudget(job, &rows);
  rows.AddSettings(settings);
  return Done(rows.Take());
}

}  // namespace traind::daemon
