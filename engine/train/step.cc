// The interpreter of one step's instruction list.
#include "engine/train/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace traind::train {
namespace {

using plan::Instruction;
using plan::InstructionKind;

// Keeps a gradient of norm 0 from being divided by; PyTorch's clip_grad_norm_ has the same.
constexpr double kNormEpsilon = 1e-6;

class Step {
 public:
  Step(const TrainingSpec& training, int64_t step, double learning_rate, Batches* batches,
       model::Model* model)
      : training_(training), step_(step), learning_rate_(learning_rate), batches_(batches), model_(model) {}

  const StepResult& result() const { return result_; }

  Status Execute(const Instruction& instruction) {
    switch (instruction.kind) {
      case InstructionKind::kForward:
        if (instruction.ministage == 0) batches_->Load(instruction.micro_batch, model_);
        return model_->Run(instruction);
      case InstructionKind::kLoss:
        TRAIND_TRY(model_->Run(instruction));
        return AddLoss(instruction.micro_batch);
      case InstructionKind::kNorm:
        TRAIND_TRY(model_->Run(instruction));
        return TakeNorm();
      case InstructionKind::kOptimize:
        return model_->Optimize(Update());
      default:
        return model_->Run(instruction);
    }
  }

 private:
  Status AddLoss(int64_t micro_batch) {
    const model::LossSum sum = model_->TakeLoss();
    const int64_t first = batches_->position() + micro_batch * model_->table().sequences;
    if (!std::isfinite(sum.sum)) {
      return NonFinite("the loss", sum.mean(), first, first + model_->table().sequences);
    }
    loss_sum_ += sum.sum;
    const auto tokens = static_cast<double>(batches_->batch_sequences() * batches_->sequence_length());
    result_.loss = loss_sum_ / tokens;
    return Ok();
  }

  Status TakeNorm() {
    result_.grad_norm = std::sqrt(model_->square_norm());
    if (std::isfinite(result_.grad_norm)) return Ok();
    return NonFinite("the gradient's norm", result_.grad_norm, batches_->position(),
                     batches_->position() + batches_->batch_sequences());
  }

  Status NonFinite(std::string_view what, double value, int64_t first, int64_t end) const {
    return Status(ErrorCode::NON_FINITE,
                  fmt::format("step {}: {} is {} at learning rate {:g}; the data: {}", step_, what, value,
                              learning_rate_, batches_->Describe(first, end)),
                  "lower learning_rate, raise warmup_steps, or resume from an older checkpoint");
  }

  ops::AdamwSettings Update() const {
    ops::AdamwSettings update;
    update.learning_rate = learning_rate_;
    update.beta1 = training_.adam_beta1;
    update.beta2 = training_.adam_beta2;
    update.epsilon = training_.adam_epsilon;
    update.weight_decay = training_.weight_decay;
    update.step = step_;
    if (training_.max_grad_norm > 0) {
      update.gradient_scale = std::min(1.0, training_.max_grad_norm / (result_.grad_norm + kNormEpsilon));
    }
    return update;
  }

  const TrainingSpec& training_;
  const int64_t step_;
  const double learning_rate_;
  Batches* const batches_;
  model::Model* const model_;
  double loss_sum_ = 0;
  StepResult result_;
};

}  // namespace

Result<std::optional<StepResult>> RunStep(const std::vector<plan::Instruction>& list,
                                          const TrainingSpec& training, int64_t step, double learning_rate,
                                          const BorderCheck& at_border,
                                          const std::function<void()>& before_update, Batches* batches,
                                          model::Model* model) {
  model->TakeLoss();  // what an abandoned step has left
  Step run(training, step, learning_rate, batches, model);
  bool updating = false;
  for (const Instruction& instruction : list) {
    if (!updating && instruction.kind == InstructionKind::kOptimize) {
      updating = true;
      before_update();
    } else if (!updating) {
      TRAIND_ASSIGN(const bool go_on, at_border(instruction));
      if (!go_on) return std::optional<StepResult>();
    }
    TRAIND_TRY(run.Execute(instruction));
  }
  batches->Advance();
  return std::optional(run.result());
}

}  // namespace traind::train
