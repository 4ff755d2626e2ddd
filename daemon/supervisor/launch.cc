// One pass over the queue.
#include "daemon/supervisor/launch.h"
#include "daemon/catalog/tokenizers.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>

#include "daemon/supervisor/adopt.h"
#include "daemon/supervisor/fence.h"
#include "daemon/supervisor/meter.h"
#include "daemon/supervisor/version.h"
#include "engine/base/fault.h"
#include "engine/base/publish.h"

namespace traind::daemon {
namespace {

constexpr double kFencedAgainSeconds = 0.1;
constexpr double kMemoryAgainSeconds = 3;
constexpr double kNoDeviceAgainSeconds = 60;
constexpr double kMinSecondsLeft = 0.001;  // 0 would mean that the budget is no target

// What one job of the queue came to.
struct Try {
  std::optional<Launch> launch;
  bool changed = false;
  bool blocks = false;  // the ones behind it wait too
  bool fenced = false;
  std::optional<double> again_seconds;
};

// The pass' tools, so that each step's signature is its own business.
struct Pass {
  Reader& reader;
  const DaemonState& daemon;
  const QueueView& view;
  double now = 0;

  Status Write(const std::function<Status(Transaction&)>& work) const { return daemon.catalog->Write(work); }
};

Status ChangeReason(const Pass& pass, const JobRecord& job, const std::string& reason, Try* result) {
  if (job.reason == reason) return Ok();
  result->changed = true;
  return pass.Write([&](Transaction& transaction) { return SetReason(transaction, job.id, reason); });
}

Status ChangeState(const Pass& pass, const JobRecord& job, JobChange change, const std::string& reason,
                   Try* result) {
  result->changed = true;
  return pass.Write([&](Transaction& transaction) {
    return Apply(transaction, job.id, change, reason, pass.now).status();
  });
}

std::string HolderText(const std::string& holder, const DeviceKey& device) {
  return fmt::format("{} holds {}", holder, DeviceName(device));
}

// The devices that ON allows, free or not.
std::vector<DeviceSpec> AllowedDevices(const JobRecord& job, const std::vector<DeviceSpec>& devices) {
  if (!job.devices.is_array()) return devices;
  std::vector<DeviceSpec> allowed;
  for (const DeviceSpec& device : devices) {
    const Json key = Json::array({device.node, device.index});
    if (std::ranges::find(job.devices, key) != job.devices.end()) allowed.push_back(device);
  }
  return allowed;
}

// What the budget says of a job whose DEADLINE passed before it could start.
Status EndLate(const Pass& pass, const JobRecord& job, Try* result) {
  const std::string reason =
      fmt::format("the DEADLINE {} passed while it was queued", FormatTime(*job.budget.deadline));
  switch (job.budget.action) {
    case LimitAction::kWarn:
      return Ok();
    case LimitAction::kPause:
      return ChangeState(pass, job, JobChange::kPause, reason, result);
    case LimitAction::kFail:
      return ChangeState(pass, job, JobChange::kFail, "BUDGET_EXCEEDED: " + reason, result);
    case LimitAction::kCheckpointAndStop:
      break;
  }
  return ChangeState(pass, job, JobChange::kExceedBudget, reason, result);
}

// Where the attempt begins.
struct Start {
  std::string checkpoint;
  int64_t step = 0;
  bool foreign = false;  // another job's checkpoint: RESUME FROM
};

Result<Start> FindStart(const Pass& pass, const JobRecord& job) {
  TRAIND_TRY(AdoptCheckpoints(pass.reader, *pass.daemon.catalog, *pass.daemon.io, job, pass.now).status());
  TRAIND_ASSIGN(const auto own,
                NewestCheckpoint(pass.reader, *pass.daemon.catalog, *pass.daemon.io, job, pass.now));
  if (own) return Start{own->path, own->step, false};
  if (job.resume_checkpoint.empty()) return Start{};
  return Start{job.resume_checkpoint, 0, true};
}

plan::PlanRequest RequestOf(const JobRecord& job, std::vector<DeviceSpec> devices, const Start& start,
                            double now) {
  plan::PlanRequest request;
  request.model = job.model_spec;
  request.training = job.training;
  request.budget = job.budget;
  // Once something was paid for, a prediction no longer stops it; the limit itself does.
  if (job.attempts > 0) request.budget.action_explicit = true;
  request.budget_used_seconds = job.used_seconds;
  request.devices = std::move(devices);
  if (job.data_tokens > 0) request.data_tokens = job.data_tokens;
  if (job.validation_tokens > 0) request.validation_tokens = job.validation_tokens;
  request.validates = job.validation.has_value();
  request.now = now;
  request.start_step = start.step;
  if (const auto plan = plan::PlanFromJson(job.plan); plan.ok()) request.keep = plan->strategy;
  return request;
}

std::vector<DeviceSpec> Emptied(std::vector<DeviceSpec> devices) {
  for (DeviceSpec& device : devices) device.free_bytes = device.memory_bytes;
  return devices;
}

// The plan of the next attempt; nullopt when the job has to wait for memory or was ended.
Result<std::optional<plan::Plan>> PlanAttempt(const Pass& pass, const JobRecord& job,
                                              const std::vector<DeviceSpec>& free, const Start& start,
                                              Try* result) {
  plan::PlanRequest request = RequestOf(job, free, start, pass.now);
  Result<plan::PlanChoice> choice = plan::PlanTraining(request);
  if (choice.ok()) return std::optional<plan::Plan>(choice->plan);
  const Status refused = choice.status();
  if (refused.code() == ErrorCode::NO_FEASIBLE_PLAN) {
    request.devices = Emptied(free);
    if (plan::PlanTraining(request).ok()) {  // it is only taken by others now
      result->again_seconds = kMemoryAgainSeconds;
      TRAIND_TRY(ChangeReason(pass, job, "waits for memory: " + refused.message(), result));
      return std::optional<plan::Plan>();
    }
    request.devices = free;
    request.keep.reset();  // its devices cannot hold the old plan any more: another one
    choice = plan::PlanTraining(request);
    if (choice.ok()) return std::optional<plan::Plan>(choice->plan);
  }
  TRAIND_TRY(ChangeState(pass, job, JobChange::kFail, refused.ToString(), result));
  return std::optional<plan::Plan>();
}

double SecondsLeft(const JobRecord& job, double now) {
  if (!(job.training.target == Target{})) return 0;
  const BudgetMeter meter(job.budget, {job.used_seconds, job.gpu_seconds, 1, job.submitted_at}, now);
  return std::max(meter.SecondsLeft(0, now).value_or(0), kMinSecondsLeft);
}

TrainTask TaskOf(const Pass& pass, const JobRecord& job, const plan::Plan& plan, const Start& start) {
  TrainTask task;
  task.job = job.id;
  task.model = job.model_spec;
  task.training = job.training;
  task.plan = plan::PlanToJson(plan);
  task.data = job.data;
  task.validation = job.validation;
  task.tokenizer = TokenizerDirectory(pass.daemon.state_directory, job.model_spec.tokenizer_id);
  task.cache_directory = pass.daemon.state_directory + "/cache";
  task.checkpoint_directory = CheckpointRoot(job);
  if (job.from_version > 0) {
    task.initial_weights = VersionDirectory(pass.daemon.state_directory, job.model_id, job.from_version);
  }
  task.resume_checkpoint = start.checkpoint;
  task.statement = job.statement;
  task.total_steps = job.total_steps;
  task.seconds_left = SecondsLeft(job, pass.now);
  task.deadline_scale = pass.view.deadline_scale;
  return task;
}

Status CommitAttempt(const Pass& pass, const JobRecord& job, Launch* launch) {
  const Status committed = pass.Write([&](Transaction& transaction) -> Status {
    TRAIND_TRY(Apply(transaction, job.id, JobChange::kStart, "", pass.now).status());
    TRAIND_TRY(SetPlan(transaction, job.id, launch->task.plan));
    TRAIND_ASSIGN(launch->attempt, BeginAttempt(transaction, job.id, DeviceName(launch->device), pass.now));
    return Ok();
  });
  TRAIND_TRY(committed);
  launch->job = job;
  launch->job.state = JobState::kPreparing;
  launch->job.attempts = launch->attempt;
  launch->task.attempt = launch->attempt;
  pass.daemon.catalog->TrimMetrics(job.id, launch->start_step);
  return Ok();
}

// Spawns the worker of a committed attempt; a failure is the attempt's, not the pass'.
Status Spawn(const Pass& pass, const JobRecord& job, const Descriptor& lock, Launch* launch) {
  TRAIND_TRY(PassFaultPoint(FaultPoint::attempt_started));
  TRAIND_ASSIGN(const Descriptor output, OpenWorkerLog(WorkerLogPath(job)));
  TRAIND_ASSIGN(launch->worker, SpawnWorker(pass.view.worker_program, {}, lock, output));
  const pid_t pid = launch->worker.pid;
  pass.daemon.catalog->Submit(
      [job = job.id, attempt = launch->attempt, pid](Transaction& transaction) {
        return SetAttemptProcess(transaction, job, attempt, pid);
      },
      [](const Status&) {});
  return Ok();
}

Result<Try> StartOn(const Pass& pass, const JobRecord& job, const std::vector<DeviceSpec>& free) {
  Try result;
  TRAIND_TRY(pass.daemon.io->MakeDirectories(CheckpointRoot(job)));
  TRAIND_ASSIGN(std::optional<Descriptor> lock, TryFence(AttemptLockPath(job)));
  if (!lock) {
    result.blocks = true;
    result.fenced = true;
    result.again_seconds = kFencedAgainSeconds;
    TRAIND_TRY(ChangeReason(pass, job, "an earlier attempt's worker is still leaving", &result));
    return result;
  }
  TRAIND_TRY(RemoveTemporaries(*pass.daemon.io, CheckpointRoot(job)));
  TRAIND_ASSIGN(const Start start, FindStart(pass, job));
  TRAIND_TRY(RemoveSurplus(pass.reader, *pass.daemon.io, job));
  TRAIND_ASSIGN(const auto plan, PlanAttempt(pass, job, free, start, &result));
  if (!plan) return result;

  Launch launch;
  launch.plan = *plan;
  launch.device = {plan->device.node, plan->device.index};
  launch.task = TaskOf(pass, job, *plan, start);
  launch.start_step = start.step;
  TRAIND_TRY(CommitAttempt(pass, job, &launch));
  launch.failure = Spawn(pass, job, *lock, &launch);
  result.changed = true;
  result.launch = std::move(launch);
  return result;
}

Result<Try> TryJob(const Pass& pass, const JobRecord& job, const std::vector<DeviceSpec>& devices) {
  Try result;
  const std::vector<DeviceSpec> allowed = AllowedDevices(job, devices);
  std::vector<DeviceSpec> free;
  std::string holders;
  for (const DeviceSpec& device : allowed) {
    const auto holder = pass.view.busy.find({device.node, device.index});
    if (holder == pass.view.busy.end()) {
      free.push_back(device);
    } else {
      holders += (holders.empty() ? "" : ", ") + HolderText(holder->second, holder->first);
    }
  }
  if (free.empty()) {
    TRAIND_TRY(
        ChangeReason(pass, job, allowed.empty() ? "no device that ON allows is there" : holders, &result));
    return result;
  }
  if (pass.view.resting.contains(job.id)) {
    result.blocks = true;
    return result;
  }
  Result<Try> started_or = StartOn(pass, job, free);
  if (started_or.status().code() == ErrorCode::DISK_FULL) {
    TRAIND_TRY(ChangeState(pass, job, JobChange::kStall, started_or.status().ToString(), &result));
    return result;
  }
  TRAIND_ASSIGN(Try started, std::move(started_or));
  started.again_seconds = started.again_seconds ? started.again_seconds : result.again_seconds;
  return started;
}

// Everybody behind this job waits for the same: one statement, however long the queue is.
Status ExplainWaiting(const Pass& pass, int64_t behind, const std::string& reason, QueuePass* result) {
  TRAIND_ASSIGN(
      const auto waiting,
      pass.reader.Query("SELECT id FROM main._jobs WHERE state = 'QUEUED' AND id > ?1 AND reason <> ?2",
                        {behind, reason}));
  if (waiting.empty()) return Ok();
  for (const auto& row : waiting) result->changed.push_back(std::get<int64_t>(row[0]));
  return pass.Write([&](Transaction& transaction) {
    return transaction.Run("UPDATE _jobs SET reason = ?2 WHERE state = 'QUEUED' AND id > ?1 AND reason <> ?2",
                           {behind, reason});
  });
}

Result<std::vector<int64_t>> QueuedJobs(Connection& connection) {
  TRAIND_ASSIGN(const auto rows,
                connection.Query("SELECT id FROM main._jobs WHERE state = 'QUEUED' ORDER BY id"));
  std::vector<int64_t> ids;
  for (const auto& row : rows) ids.push_back(std::get<int64_t>(row[0]));
  return ids;
}

// Ends the queued jobs whose DEADLINE has passed; the pass comes again when the next one does.
Status EndLateJobs(const Pass& pass, QueuePass* result) {
  TRAIND_ASSIGN(
      const auto rows,
      pass.reader.Query("SELECT id, json_extract(budget, '$.deadline') FROM main._jobs WHERE state = "
                        "'QUEUED' AND json_extract(budget, '$.deadline') IS NOT NULL ORDER BY 2"));
  for (const auto& row : rows) {
    const double deadline = std::get<double>(row[1]);
    if (deadline > pass.now) {
      result->again_seconds = deadline - pass.now;
      break;
    }
    TRAIND_ASSIGN(const JobRecord job, LoadJob(pass.reader, std::get<int64_t>(row[0])));
    Try tried;
    TRAIND_TRY(EndLate(pass, job, &tried));
    if (tried.changed) result->changed.push_back(job.id);
  }
  return Ok();
}

void Sooner(std::optional<double> seconds, std::optional<double>* soonest) {
  if (seconds && (!*soonest || *seconds < **soonest)) *soonest = seconds;
}

}  // namespace

std::string DeviceName(const DeviceKey& key) {
  return fmt::format("{}:{}", key.first, key.second);
}

std::string WorkerLogPath(const JobRecord& job) {
  return job.directory + "/worker.log";
}

std::string AttemptLockPath(const JobRecord& job) {
  return job.directory + "/attempt.lock";
}

Result<Descriptor> OpenWorkerLog(const std::string& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.valid()) return file;
  return Status(errno == ENOSPC ? ErrorCode::DISK_FULL : ErrorCode::IO,
                fmt::format("{} cannot be opened: {}", path, strerror(errno)));
}

Result<QueuePass> RunQueue(Reader& reader, const DaemonState& daemon, const QueueView& view) {
  QueuePass result;
  const Pass pass{reader, daemon, view, daemon.clock->WallSeconds()};
  TRAIND_TRY(EndLateJobs(pass, &result));
  TRAIND_ASSIGN(const std::vector<int64_t> queued, QueuedJobs(reader));
  if (queued.empty()) return result;
  const std::vector<DeviceSpec> devices = daemon.devices();
  if (devices.empty()) {
    result.again_seconds = kNoDeviceAgainSeconds;
    TRAIND_TRY(ExplainWaiting(pass, 0, "this machine's devices are not known: traind.log says why", &result));
    return result;
  }
  for (const int64_t id : queued) {
    TRAIND_ASSIGN(const JobRecord job, LoadJob(reader, id));
    if (job.state != JobState::kQueued) continue;
    TRAIND_ASSIGN(Try tried, TryJob(pass, job, devices));
    if (tried.changed) result.changed.push_back(id);
    if (tried.fenced) result.fenced = id;
    Sooner(tried.again_seconds, &result.again_seconds);
    result.launch = std::move(tried.launch);
    const bool all_busy = view.busy.size() >= devices.size();
    if (!result.launch && !tried.blocks && !all_busy) continue;
    if (result.launch) break;  // the pass that follows says it to the others
    const std::string reason = tried.blocks ? fmt::format("waits behind {}", job.Display())
                                            : HolderText(view.busy.begin()->second, view.busy.begin()->first);
    TRAIND_TRY(ExplainWaiting(pass, id, reason, &result));
    break;
  }
  return result;
}

}  // namespace traind::daemon
