// The loop: steps, validations, checkpoints and what is asked for, until the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/format/manifest.h"
#include "engine/model/model.h"
#include "engine/plan/schedule.h"
#include "engine/spec/task.h"
#include "engine/train/batches.h"
#include "engine/train/checkpoints.h"
#include "engine/train/deadlines.h"
#include "engine/train/model_state.h"
#include "engine/train/pace.h"
#include "engine/train/run.h"
#include "engine/train/step.h"
#include "engine/train/training_data.h"

namespace traind::train {

// Where a run begins: at step 0, or where a checkpoint left it.
struct StartState {
  format::Manifest manifest;     // files only if it came from a checkpoint
  std::string checkpoint;        // that it came from, or empty
  std::optional<MetricRow> row;  // of that step, if its validation is due
  double begin_seconds = 0;      // on the monotonic clock: when task.seconds_left began to run
};

// Used by one thread. All that it is given is borrowed and outlives it.
class Loop {
 public:
  Loop(const TrainTask& task, const RunPlan& plan, const RunEnvironment& environment, TrainingData* data,
       model::Model* model, StartState start);

  // Runs to the end. A step's end is, in order: its validation if that is due, its metrics row, its
  // checkpoint if that is due. Requests are seen before each instruction; a stop discards the partial step.
  Result<Outcome> Run();

 private:
  using Ended = std::optional<Outcome>;

  int64_t step() const { return manifest_.step; }
  double Now() const { return environment_.clock.MonotonicSeconds(); }
  bool BudgetIsTarget() const { return task_.seconds_left > 0; }
  double UsableSeconds() const;
  bool IsLastStep() const;
  bool ValidationIsDue(bool last) const;
  bool UntilIsMet(std::optional<double> loss, std::optional<double> val_loss) const;

  Result<Ended> Advance();
  Result<Ended> FinishStep(MetricRow row, bool last);
  Result<bool> AtBorder(const plan::Instruction& instruction);
  Result<std::optional<double>> Validate();
  MetricRow MakeRow(const StepResult& result, double learning_rate, double seconds) const;
  void LayOut();

  Result<Outcome> End(std::string_view name);
  Result<Outcome> EndFor(StopReason reason);
  Status SaveIfDue(bool best);
  Status BeginSave();
  Status AnswerRequest();
  Status Collect();
  Status TakeUp(const Checkpoints::End& end);
  Status SettleSaves();
  Status Save();
  Status TrySave();
  void AwaitSnapshot();
  ModelState State();

  const TrainTask& task_;
  const RunPlan& plan_;
  const RunEnvironment& environment_;
  TrainingData* const data_;
  model::Model* const model_;
  const StartState start_;
  const std::vector<plan::Instruction> list_;
  Batches batches_;
  Deadlines deadlines_;
  Pace pace_;
  Checkpoints checkpoints_;

  format::Manifest manifest_;            // of the state now
  int64_t steps_here_ = 0;               // updates of this process
  std::optional<double> best_val_loss_;  // since the resumed one
  bool asked_ = false;                   // what is being written was asked for
  double saving_seconds_ = 0;            // spent on checkpoints inside the current step
};

}  // namespace traind::train
