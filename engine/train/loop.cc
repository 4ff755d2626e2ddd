// Runs the loop.
#include "engine/train/loop.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "engine/base/fault.h"
#include "engine/base/log.h"
#include "engine/train/evaluation.h"
#include "engine/train/step.h"

namespace traind::train {
namespace {

// What a worker whose daemon has gone may lose without saving.
constexpr double kSecondsNotWorthSaving = 60;

}  // namespace

Loop::Loop(const TrainTask& task, const RunPlan& plan, const RunEnvironment& environment, TrainingData* data,
           model::Model* model, StartState start)
    : task_(task),
      plan_(plan),
      environment_(environment),
      data_(data),
      model_(model),
      start_(std::move(start)),
      list_(plan::GenerateStep(plan.strategy)),
      batches_(*data->train->sequences, data->train->weights, task.training.seed,
               start_.manifest.cursor.position, task.training.sequences_per_batch()),
      deadlines_(plan.predicted, task.deadline_scale),
      pace_(plan.predicted),
      checkpoints_(task, environment, start_.checkpoint, start_.manifest, model->snapshot()),
      manifest_(start_.manifest),
      best_val_loss_(start_.manifest.val_loss) {
  manifest_.files.clear();
  manifest_.optimizer.clear();
}

Result<Outcome> Loop::Run() {
  if (manifest_.validation_due && start_.row) {
    TRAIND_ASSIGN(Ended ended, FinishStep(*start_.row, false));
    if (ended) return *std::move(ended);
  } else if (UntilIsMet(manifest_.loss, manifest_.val_loss)) {
    return End("until");
  }
  if (BudgetIsTarget() && step() <= LastStableStep(task_.training, manifest_.total_steps)) LayOut();
  while (!IsLastStep()) {
    TRAIND_ASSIGN(Ended ended, Advance());
    if (ended) return *std::move(ended);
  }
  return End("target");
}

double Loop::UsableSeconds() const {
  const double left = task_.seconds_left - (Now() - start_.begin_seconds);
  return left - ReserveSeconds(pace_.seconds(), task_.seconds_left);
}

bool Loop::IsLastStep() const {
  if (step() >= manifest_.total_steps) return true;
  return BudgetIsTarget() && step() > 0 && UsableSeconds() < pace_.seconds().step;
}

bool Loop::ValidationIsDue(bool last) const {
  if (!data_->validation) return false;
  const int64_t every = task_.training.validate_every_steps;
  return last || manifest_.validation_due || (every > 0 && step() % every == 0);
}

bool Loop::UntilIsMet(std::optional<double> loss, std::optional<double> val_loss) const {
  if (!task_.training.until) return false;
  const StopCondition& until = *task_.training.until;
  const std::optional<double>& value = until.metric == "val_loss" ? val_loss : loss;
  return value && *value < until.below;
}

void Loop::LayOut() {
  const int64_t total = LayOutSteps(task_.training, pace_.seconds(), step(), UsableSeconds());
  if (std::exchange(manifest_.total_steps, total) != total) environment_.session.TotalSteps(total);
}

Result<Loop::Ended> Loop::Advance() {
  const double begin = Now();
  saving_seconds_ = 0;
  const double learning_rate = LearningRateAt(task_.training, step() + 1, manifest_.total_steps);
  const BorderCheck at_border = [this](const plan::Instruction& instruction) {
    return AtBorder(instruction);
  };
  TRAIND_ASSIGN(const std::optional<StepResult> result,
                RunStep(
                    list_, task_.training, step() + 1, learning_rate, at_border, [this] { AwaitSnapshot(); },
                    &batches_, model_));
  if (!result) {
    TRAIND_ASSIGN(Outcome outcome, EndFor(*environment_.session.Poll().stop));
    return Ended(std::move(outcome));
  }
  const double seconds = Now() - begin - saving_seconds_;
  pace_.AddStep(seconds);
  ++steps_here_;
  ++manifest_.step;
  manifest_.tokens += task_.training.batch_tokens;
  manifest_.cursor.position = batches_.position();
  manifest_.loss = result->loss;
  if (BudgetIsTarget() && IsTimeToLayOut(task_.training, step(), steps_here_, manifest_.total_steps))
    LayOut();
  const MetricRow row = MakeRow(*result, learning_rate, seconds);
  return FinishStep(row, IsLastStep() || UntilIsMet(row.loss, {}));
}

MetricRow Loop::MakeRow(const StepResult& result, double learning_rate, double seconds) const {
  MetricRow row;
  row.step = step();
  row.tokens = manifest_.tokens;
  row.loss = result.loss;
  row.learning_rate = learning_rate;
  row.grad_norm = result.grad_norm;
  row.time = environment_.clock.WallSeconds();
  if (seconds <= 0) return row;
  row.tokens_per_second = static_cast<double>(task_.training.batch_tokens) / seconds;
  if (plan_.attainable_flops_per_second > 0) {
    const double flops = TrainFlopsPerToken(task_.model, task_.training.sequence_length);
    row.mfu = flops * row.tokens_per_second / plan_.attainable_flops_per_second;
  }
  return row;
}

Result<Loop::Ended> Loop::FinishStep(MetricRow row, bool last) {
  std::optional<StopReason> stop;
  bool best = false;
  if (ValidationIsDue(last)) {
    TRAIND_ASSIGN(row.val_loss, Validate());
    manifest_.validation_due = !row.val_loss;
    if (row.val_loss) {
      best = !best_val_loss_ || *row.val_loss < *best_val_loss_;
      if (best) best_val_loss_ = row.val_loss;
      manifest_.val_loss = row.val_loss;
      manifest_.validated_step = step();
    } else {
      stop = environment_.session.Poll().stop;
    }
  }
  checkpoints_.Add(row);
  environment_.session.Metrics(row);
  TRAIND_TRY(PassFaultPoint(FaultPoint::worker_step));
  const auto end = [&]() -> Result<Outcome> {
    if (stop) return EndFor(*stop);
    return End(UntilIsMet(row.loss, row.val_loss) ? "until" : "target");
  };
  if (stop || last || UntilIsMet(row.loss, row.val_loss)) {
    TRAIND_ASSIGN(Outcome outcome, end());
    return Ended(std::move(outcome));
  }
  TRAIND_TRY(Collect());
  TRAIND_TRY(SaveIfDue(best));
  checkpoints_.Acknowledge(environment_.session.Poll().saved_step);
  return Ended();
}

Status Loop::SaveIfDue(bool best) {
  if (!checkpoints_.IsDue(step(), best)) return Ok();
  // Shortly before a budget's end it would only hold up the last one.
  if (BudgetIsTarget() && UsableSeconds() < pace_.seconds().checkpoint) return Ok();
  TRAIND_TRY(BeginSave());
  if (BudgetIsTarget() && step() <= LastStableStep(task_.training, manifest_.total_steps)) LayOut();
  return Ok();
}

Result<bool> Loop::AtBorder(const plan::Instruction& instruction) {
  TRAIND_TRY(Collect());  // first: it may answer what is asked for
  const Requests requests = environment_.session.Poll();
  if (requests.stop) return false;
  if (requests.checkpoint) TRAIND_TRY(AnswerRequest());
  environment_.session.Doing(plan::InstructionText(instruction), step() + 1, deadlines_.Of(instruction.kind));
  return true;
}

Result<std::optional<double>> Loop::Validate() {
  const double begin = Now();
  const auto at_border = [this](int64_t micro_batch) -> Result<bool> {
    const plan::Instruction instruction{plan::InstructionKind::kValidate, 0, micro_batch};
    environment_.session.Doing(plan::InstructionText(instruction), step(), deadlines_.Of(instruction.kind));
    return !environment_.session.Poll().stop;
  };
  TRAIND_ASSIGN(const std::optional<model::LossSum> sum,
                MeanLoss(*data_->validation->sequences, data_->validation->weights, 0, at_border, model_));
  if (!sum) return std::optional<double>();
  if (!std::isfinite(sum->sum)) {
    return Status(ErrorCode::NON_FINITE,
                  fmt::format("the validation loss after step {} is {}", step(), sum->mean()),
                  "lower learning_rate, or raise warmup_steps");
  }
  pace_.AddValidation(Now() - begin);
  return std::optional(sum->mean());
}

ModelState Loop::State() {
  return {task_.model, model_->table().parameters, model_->weights(), model_->moment_1(), model_->moment_2()};
}

// Begins a checkpoint of the state now, once the one before is done: each that is due is made.
Status Loop::BeginSave() {
  const double begin = Now();
  TRAIND_TRY(SettleSaves());
  checkpoints_.Begin(manifest_, State());
  saving_seconds_ += Now() - begin;
  return Ok();
}

// Somebody asks for a checkpoint: of the state now, unless it is being written already.
Status Loop::AnswerRequest() {
  if (asked_ || (checkpoints_.writing() && checkpoints_.writing() != step())) return Ok();
  if (checkpoints_.TellIfNewest(step())) {
    environment_.session.CheckpointAnswered();
    return Ok();
  }
  asked_ = true;
  checkpoints_.Begin(manifest_, State());
  return Ok();
}

// Before an update: what is being saved must have been taken.
void Loop::AwaitSnapshot() {
  if (!checkpoints_.IsTaking()) return;
  const double begin = Now();
  environment_.session.Doing("await snapshot", step(), deadlines_.Files());
  checkpoints_.AwaitTaken();
  environment_.session.Doing("optimize", step() + 1, deadlines_.Of(plan::InstructionKind::kOptimize));
  saving_seconds_ += Now() - begin;
}

Status Loop::Collect() {
  const auto end = checkpoints_.TakeEnd();
  if (!end) return Ok();
  pace_.AddStall(end->stall_seconds);
  return TakeUp(*end);
}

// A run of days does not end because one write failed; the next one may succeed. The state of a run that
// computes no numbers any more is another matter.
Status Loop::TakeUp(const Checkpoints::End& end) {
  if (end.status.code() == ErrorCode::NON_FINITE) return end.status;
  if (!end.status.ok() && end.status.code() != ErrorCode::INTERRUPTED) {
    Log(LogLevel::kError, "the checkpoint of step {} could not be written: {}", end.step,
        end.status.ToString());
    environment_.session.CheckpointFailed(end.step, end.status);
  }
  if (std::exchange(asked_, false)) environment_.session.CheckpointAnswered();
  return Ok();
}

// Waits for what is being written.
Status Loop::SettleSaves() {
  if (!checkpoints_.writing()) return Ok();
  environment_.session.Doing("await checkpoint", step(), deadlines_.Files());
  const auto end = checkpoints_.AwaitEnd();
  return end ? TakeUp(*end) : Ok();
}

// The state now, durable when OK.
Status Loop::Save() {
  TRAIND_TRY(SettleSaves());
  const double begin = Now();
  environment_.session.Doing("snapshot", step(), deadlines_.Files());
  if (!checkpoints_.Begin(manifest_, State())) return Ok();
  const auto end = checkpoints_.AwaitEnd();
  if (!end->status.ok()) return end->status;
  pace_.AddCheckpoint(Now() - begin);
  return Ok();
}

Status Loop::TrySave() {
  const Status saved = Save();
  return saved.ok() ? saved : TakeUp({step(), saved, 0});
}

Result<Outcome> Loop::End(std::string_view name) {
  TRAIND_TRY(Save());
  checkpoints_.AwaitAcknowledgement();
  return Outcome{std::string(name), step(), checkpoints_.newest()};
}

Result<Outcome> Loop::EndFor(StopReason reason) {
  switch (reason) {
    case StopReason::kCancel:
      checkpoints_.Abandon();
      break;
    case StopReason::kPause:
      return End(StopReasonName(reason));
    case StopReason::kBudget:
      if (step() > 0) return End(StopReasonName(reason));
      break;  // weights that have learned nothing are no version
    case StopReason::kShutdown:
      TRAIND_TRY(TrySave());
      checkpoints_.AwaitAcknowledgement();
      break;
    case StopReason::kDaemonGone:
      TRAIND_TRY(SettleSaves());
      if (checkpoints_.SecondsAtRisk() >= kSecondsNotWorthSaving) TRAIND_TRY(TrySave());
      break;
  }
  return Outcome{std::string(StopReasonName(reason)), step(), checkpoints_.newest()};
}

}  // namespace traind::train
