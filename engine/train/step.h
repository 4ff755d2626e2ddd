// Step: one optimizer update, by interpreting the plan's instruction list.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/model.h"
#include "engine/plan/schedule.h"
#include "engine/spec/training.h"
#include "engine/train/batches.h"

namespace traind::train {

struct StepResult {
  double loss = 0;       // mean over the step's tokens, nats
  double grad_norm = 0;  // before clipping
};

// Called before each instruction up to the first `optimize`, from where a step is finished. False abandons
// the step: weights, moments and data cursor are as before it.
using BorderCheck = std::function<Result<bool>(const plan::Instruction&)>;

// Executes `list` as update `step` with this learning rate and advances the batches; nullopt if it was
// abandoned. `before_update` is called before the first `optimize`. NON_FINITE, naming step, epoch,
// sequences and files, if a loss or the gradients' norm is NaN or infinite; nothing has been updated then.
Result<std::optional<StepResult>> RunStep(const std::vector<plan::Instruction>& list,
                                          const TrainingSpec& training, int64_t step, double learning_rate,
                                          const BorderCheck& at_border,
                                          const std::function<void()>& before_update, Batches* batches,
                                          model::Model* model);

}  // namespace traind::train
