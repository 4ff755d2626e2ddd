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
      checkpoints_(task, environment, start_.checkpoint, start_.manifest),
      manifest_(start_.manifest) {
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
                RunStep(list_, task_.training, step() + 1, learning_rate, at_border, &batches_, model_));
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
  if (ValidationIsDue(last)) {
    TRAIND_ASSIGN(row.val_loss, Validate());
    manifest_.validation_due = !row.val_loss;
    if (row.val_loss) {
      manifest_.val_loss = row.val_loss;
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
  if (checkpoints_.IsDue(step())) {
    TRAIND_TRY(TrySave());
    if (BudgetIsTarget() && step() <= LastStableStep(task_.training, manifest_.total_steps)) LayOut();
  }
  checkpoints_.Acknowledge(environment_.session.Poll().saved_step);
  return Ended();
}

Result<bool> Loop::AtBorder(const plan::Instruction& instruction) {
  const Requests requests = environment_.session.Poll();
  if (requests.stop) return false;
  if (requests.checkpoint) {
    const double begin = Now();
    checkpoints_.TellIfNewest(manifest_);
    TRAIND_TRY(TrySave());
    environment_.session.CheckpointAnswered();
    saving_seconds_ += Now() - begin;
  }
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

Status Loop::Save() {
  const double begin = Now();
  environment_.session.Doing("snapshot", step(), deadlines_.Files());
  TRAIND_ASSIGN(const bool written, checkpoints_.Save(manifest_, State()));
  if (written) pace_.AddCheckpoint(Now() - begin);
  return Ok();
}

// A run of days does not end because one write failed; the next one may succeed.
Status Loop::TrySave() {
  const Status saved = Save();
  if (saved.ok() || saved.code() == ErrorCode::NON_FINITE) return saved;
  const std::string text =
      fmt::format("the checkpoint of step {} could not be written: {}", step(), saved.ToString());
  Log(LogLevel::kError, "{}", text);
  environment_.session.Message(LogLevel::kError, text);
  return Ok();
}

Result<Outcome> Loop::End(std::string_view name) {
  TRAIND_TRY(Save());
  checkpoints_.AwaitAcknowledgement();
  return Outcome{std::string(name), step(), checkpoints_.newest()};
}

Result<Outcome> Loop::EndFor(StopReason reason) {
  switch (reason) {
    case StopReason::kCancel:
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
      if (checkpoints_.SecondsAtRisk() >= kSecondsNotWorthSaving) TRAIND_TRY(TrySave());
      break;
  }
  return Outcome{std::string(StopReasonName(reason)), step(), checkpoints_.newest()};
}

}  // namespace traind::train
