// Verifies the instruction list of one step on one rank.
#include <set>
#include <utility>

#include "engine/plan/schedule.h"

namespace traind::plan {
namespace {

// Walks a list once, keeping for every (ministage, micro-batch) what has been done with it.
class StepVerifier {
 public:
  StepVerifier(int64_t ministages, int64_t micro_batches)
      : ministages_(ministages), micro_batches_(micro_batches) {}

  Status Verify(const std::vector<Instruction>& list) {
    for (size_t index = 0; index < list.size(); ++index) {
      std::string broken = Check(list[index]);
      if (!broken.empty()) return Refuse(InstructionText(list[index]), static_cast<int64_t>(index), broken);
    }
    std::string missing = CheckEnd();
    if (!missing.empty()) return Refuse("the end", static_cast<int64_t>(list.size()), missing);
    return Ok();
  }

 private:
  using Part = std::pair<int64_t, int64_t>;  // ministage, micro-batch
  using Parts = std::set<Part>;

  static Status Refuse(const std::string& what, int64_t index, const std::string& broken) {
    return Status(ErrorCode::INTERNAL, "instruction list refused at " + what + " (number " +
                                           std::to_string(index) + "): " + broken);
  }

  // Empty, or the rule that the instruction breaks.
  std::string Check(const Instruction& instruction) {
    if (HasMinistage(instruction.kind) &&
        (instruction.ministage < 0 || instruction.ministage >= ministages_)) {
      return "there is no such ministage";
    }
    if (HasMicroBatch(instruction.kind) &&
        (instruction.micro_batch < 0 || instruction.micro_batch >= micro_batches_)) {
      return "there is no such micro-batch";
    }
    switch (instruction.kind) {
      case InstructionKind::kForward:
        return Forward({instruction.ministage, instruction.micro_batch});
      case InstructionKind::kLoss:
        return Loss(instruction.micro_batch);
      case InstructionKind::kBackward:
        return Backward({instruction.ministage, instruction.micro_batch}, true, true);
      case InstructionKind::kBackwardInput:
        return Backward({instruction.ministage, instruction.micro_batch}, true, false);
      case InstructionKind::kBackwardWeight:
        return Backward({instruction.ministage, instruction.micro_batch}, false, true);
      case InstructionKind::kNorm:
        return Norm();
      case InstructionKind::kOptimize:
        return Optimize(instruction.ministage);
      case InstructionKind::kValidate:
      case InstructionKind::kSnapshot:
      case InstructionKind::kPredict:
        return "it stands between steps, not in one";
    }
    return "its kind is unknown";
  }

  std::string Forward(Part part) {
    if (norm_) return "the step's gradients are closed by norm";
    if (part.first > 0 && !forward_.contains({part.first - 1, part.second})) {
      return "the ministage before has not gone forward";
    }
    return forward_.insert(part).second ? "" : "it is done twice";
  }

  std::string Loss(int64_t micro_batch) {
    if (!forward_.contains({ministages_ - 1, micro_batch}))
      return "its logits are not there: no forward before";
    return loss_.insert({0, micro_batch}).second ? "" : "it is done twice";
  }

  std::string Backward(Part part, bool input, bool weight) {
    if (norm_) return "the step's gradients are closed by norm";
    if (!loss_.contains({0, part.second})) return "its loss is not there";
    if (input) {
      if (part.first + 1 < ministages_ && !input_.contains({part.first + 1, part.second})) {
        return "the ministage after has not gone backward";
      }
      if (!input_.insert(part).second) return "the gradient of its input is computed twice";
    }
    if (weight) {
      if (!input_.contains(part)) return "backward_input has not produced what it reads";
      if (!weight_.insert(part).second) return "the gradient of its weights is added twice";
    }
    return "";
  }

  std::string Norm() {
    if (norm_) return "it is done twice";
    if (std::string missing = MissingGradients(); !missing.empty()) return missing;
    norm_ = true;
    return "";
  }

  std::string Optimize(int64_t ministage) {
    if (!norm_) return "the optimizer waits for norm";
    return optimized_.insert({ministage, 0}).second ? "" : "it is done twice";
  }

  std::string MissingGradients() const {
    for (int64_t micro_batch = 0; micro_batch < micro_batches_; ++micro_batch) {
      for (int64_t ministage = 0; ministage < ministages_; ++ministage) {
        if (!weight_.contains({ministage, micro_batch})) {
          return "micro-batch " + std::to_string(micro_batch) + " has not gone backward through ministage " +
                 std::to_string(ministage);
        }
      }
    }
    return "";
  }

  std::string CheckEnd() const {
    if (!norm_) return "there is no norm";
    for (int64_t ministage = 0; ministage < ministages_; ++ministage) {
      if (!optimized_.contains({ministage, 0})) {
        return "ministage " + std::to_string(ministage) + " is not optimized";
      }
    }
    return "";
  }

  const int64_t ministages_;
  const int64_t micro_batches_;
  Parts forward_, loss_, input_, weight_, optimized_;
  bool norm_ = false;
};

}  // namespace

Status VerifyStep(const std::vector<Instruction>& list, int64_t ministages, int64_t micro_batches) {
  return StepVerifier(ministages, micro_batches).Verify(list);
}

}  // namespace traind::plan
