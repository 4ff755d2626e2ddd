// ALTER JOB … SET BUDGET: another budget, checked as at submission.
#include <fmt/format.h>

#include "daemon/bind/budget.h"
#include "daemon/bind/hardware.h"
#include "daemon/bind/job.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"
#include "engine/plan/planner.h"

namespace traind::daemon {
namespace {

Status CheckState(const JobRecord& job) {
  if (job.state != JobState::kSucceeded) return {};
  return {ErrorCode::WRONG_STATE,
          fmt::format("{} is SUCCEEDED: its budget no longer matters", job.Display())};
}

Result<std::vector<DeviceSpec>> DevicesOf(const JobRecord& job, const Context& context) {
  TRAIND_ASSIGN(BoundHardware hardware, BindHardware(std::nullopt, context));
  if (!job.devices.is_array()) return std::move(hardware.devices);
  std::erase_if(hardware.devices, [&](const DeviceSpec& device) {
    return std::ranges::find(job.devices, Json::array({device.node, device.index})) == job.devices.end();
  });
  return std::move(hardware.devices);
}

// The same strategy under the new budget.
Result<plan::PlanChoice> PlanAgain(const JobRecord& job, const Budget& budget, const Context& context) {
  TRAIND_ASSIGN(const plan::Plan old, plan::PlanFromJson(job.plan));
  plan::PlanRequest request;
  request.model = job.model_spec;
  request.training = job.training;
  request.budget = budget;
  request.budget_used_seconds = job.used_seconds;
  TRAIND_ASSIGN(request.devices, DevicesOf(job, context));
  if (job.data_tokens > 0) request.data_tokens = job.data_tokens;
  if (job.validation_tokens > 0) request.validation_tokens = job.validation_tokens;
  request.validates = job.validation.has_value();
  request.now = Now(context);
  request.keep = old.strategy;
  request.start_step = job.step;
  return plan::PlanTraining(request);
}

}  // namespace

Result<Outcome> Run(const grammar::AlterJob& statement, const Context& context) {
  TRAIND_ASSIGN(const Budget budget, BindBudget(statement.budget));
  TRAIND_ASSIGN(const int64_t id, FindJob(statement.job, context));
  if (id == kCheckedJob) return Done(Reply{});
  TRAIND_ASSIGN(const JobRecord before, LoadJob(context.reader, id));
  Status state = CheckState(before);
  if (!state.ok()) return std::move(state).At(statement.job.value.position);
  auto choice = PlanAgain(before, budget, context);
  if (!choice.ok()) return choice.status().At(statement.budget.position);
  if (context.check) return Done(Reply{});

  const Status written = context.daemon.catalog->Write([&](Transaction& transaction) -> Status {
    TRAIND_ASSIGN(const JobRecord job, LoadJob(transaction, id));
    TRAIND_TRY(CheckState(job));
    // What runs keeps its plan; the next attempt takes the new one.
    const bool runs = InfoOf(job.state).has_devices;
    TRAIND_TRY(
        SetBudget(transaction, id, budget, runs ? job.plan : plan::PlanToJson(choice->plan), Now(context)));
    transaction.AfterCommit([changed = context.daemon.job_changed, id] {
      if (changed) changed(id);
    });
    return {};
  });
  if (!written.ok()) return written;
  TRAIND_ASSIGN(Reply reply, JobReply(context.reader, {id}));
  reply.notices = choice->warnings;
  return Done(std::move(reply));
}

}  // namespace traind::daemon
