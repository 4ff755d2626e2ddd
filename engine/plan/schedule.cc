// Generates, prints, reads and verifies instruction lists.
#include "engine/plan/schedule.h"

#include <charconv>

namespace traind::plan {
namespace {

struct KindInfo {
  InstructionKind kind;
  std::string_view name;
  bool ministage;
  bool micro_batch;
};

constexpr KindInfo kKinds[kInstructionKinds] = {
    {InstructionKind::kForward, "forward", true, true},
    {InstructionKind::kLoss, "loss", false, true},
    {InstructionKind::kBackward, "backward", true, true},
    {InstructionKind::kBackwardInput, "backward_input", true, true},
    {InstructionKind::kBackwardWeight, "backward_weight", true, true},
    {InstructionKind::kNorm, "norm", false, false},
    {InstructionKind::kOptimize, "optimize", true, false},
    {InstructionKind::kValidate, "validate", false, true},
    {InstructionKind::kSnapshot, "snapshot", false, false},
    {InstructionKind::kPredict, "predict", false, false},
};

const KindInfo& InfoOfKind(InstructionKind kind) {
  return kKinds[static_cast<int>(kind)];
}

// Cuts the next word off `text`, which is separated by single spaces.
std::string_view NextWord(std::string_view* text) {
  size_t end = text->find(' ');
  std::string_view word = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return word;
}

bool ParseIndex(std::string_view word, int64_t* index) {
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *index);
  return error == std::errc() && end == word.data() + word.size() && *index >= 0;
}

}  // namespace

std::string_view InstructionKindName(InstructionKind kind) {
  return InfoOfKind(kind).name;
}

bool HasMinistage(InstructionKind kind) {
  return InfoOfKind(kind).ministage;
}

bool HasMicroBatch(InstructionKind kind) {
  return InfoOfKind(kind).micro_batch;
}

std::string InstructionText(const Instruction& instruction) {
  const KindInfo& info = InfoOfKind(instruction.kind);
  std::string text(info.name);
  if (info.ministage) text += " " + std::to_string(instruction.ministage);
  if (info.micro_batch) text += " " + std::to_string(instruction.micro_batch);
  return text;
}

Result<Instruction> ParseInstruction(std::string_view text) {
  std::string_view rest = text;
  std::string_view name = NextWord(&rest);
  for (const KindInfo& info : kKinds) {
    if (info.name != name) continue;
    Instruction instruction{info.kind};
    bool good = true;
    if (info.ministage) good = good && ParseIndex(NextWord(&rest), &instruction.ministage);
    if (info.micro_batch) good = good && ParseIndex(NextWord(&rest), &instruction.micro_batch);
    if (good && rest.empty() && InstructionText(instruction) == text) return instruction;
    return Status(ErrorCode::INVALID_OPTION, "instruction \"" + std::string(text) + "\": expected " +
                                                 std::string(name) + (info.ministage ? " <ministage>" : "") +
                                                 (info.micro_batch ? " <micro-batch>" : ""));
  }
  return Status(ErrorCode::INVALID_OPTION, "\"" + std::string(text) + "\" is no instruction");
}

std::vector<Instruction> GenerateStep(const Strategy& strategy, BackwardForm form) {
  std::vector<Instruction> list;
  for (int64_t micro_batch = 0; micro_batch < strategy.micro_batches; ++micro_batch) {
    list.push_back({InstructionKind::kForward, 0, micro_batch});
    list.push_back({InstructionKind::kLoss, 0, micro_batch});
    if (form == BackwardForm::kJoint) {
      list.push_back({InstructionKind::kBackward, 0, micro_batch});
    } else {
      list.push_back({InstructionKind::kBackwardInput, 0, micro_batch});
      list.push_back({InstructionKind::kBackwardWeight, 0, micro_batch});
    }
  }
  list.push_back({InstructionKind::kNorm});
  list.push_back({InstructionKind::kOptimize});
  return list;
}

}  // namespace traind::plan
