// Instruction lists: what a rank does in one optimizer step, in order.
//
// One list has three readers: the worker executes it, the cost model times it, EXPLAIN prints it. The
// one-device step is an instruction list like any other:
//
//   forward 0 0, loss 0, backward 0 0, forward 0 1, loss 1, backward 0 1, …, norm, optimize 0
//
// validate and snapshot stand between steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/strategy.h"

namespace traind::plan {

enum class InstructionKind {
  kForward,         // ministage, micro_batch: activations up to the logits
  kLoss,            // micro_batch: logits become the loss and, in place, their gradient
  kBackward,        // ministage, micro_batch: both of the following, operator by operator, with less memory
  kBackwardInput,   // ministage, micro_batch: gradients of activations only
  kBackwardWeight,  // ministage, micro_batch: gradients of parameters only
  kNorm,            // the global norm of all gradients of the step
  kOptimize,        // ministage: clip and update
  kValidate,        // micro_batch: the loss of validation data, nothing kept
  kSnapshot,        // a checkpoint
  kPredict,         // inference: the logits of the next token
};
inline constexpr int kInstructionKinds = 10;

struct Instruction {
  InstructionKind kind = InstructionKind::kForward;
  int64_t ministage = 0;    // 0 where the kind has none
  int64_t micro_batch = 0;  // 0 where the kind has none

  bool operator==(const Instruction&) const = default;
};

std::string_view InstructionKindName(InstructionKind kind);  // "backward_input"
bool HasMinistage(InstructionKind kind);
bool HasMicroBatch(InstructionKind kind);

// "forward 0 3" (ministage, micro-batch), "loss 3", "optimize 0", "norm".
std::string InstructionText(const Instruction& instruction);
// The inverse; INVALID_OPTION says what was expected.
Result<Instruction> ParseInstruction(std::string_view text);

// How the backward pass of a micro-batch is issued.
enum class BackwardForm {
  kJoint,  // backward
  kSplit,  // backward_input, then backward_weight
};

// The list of one optimizer step. `strategy.micro_batches` must be at least 1.
std::vector<Instruction> GenerateStep(const Strategy& strategy, BackwardForm form = BackwardForm::kJoint);

// One step on one rank is accepted if each micro-batch goes once through forward, loss and backward of each
// ministage, in an order in which everything used is there (forward before loss before backward, ministages
// up and down), gradients are complete before `norm`, and `norm` stands before the first `optimize`.
// INTERNAL names the instruction, its place and the rule that it breaks.
Status VerifyStep(const std::vector<Instruction>& list, int64_t ministages, int64_t micro_batches);

}  // namespace traind::plan
