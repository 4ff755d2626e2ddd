// Instruction lists: generation, text, and the verifier, which must refuse every mutation that matters.
#include "engine/plan/schedule.h"

#include <algorithm>
#include <random>

#include "tests/support/test.h"

namespace traind::plan {
namespace {

std::vector<Instruction> Step(int64_t micro_batches, BackwardForm form = BackwardForm::kJoint) {
  Strategy strategy;
  strategy.micro_batches = micro_batches;
  return GenerateStep(strategy, form);
}

std::string Text(const std::vector<Instruction>& list) {
  std::string text;
  for (const Instruction& instruction : list) text += InstructionText(instruction) + ", ";
  return text;
}

void StepIsWhatTheHeaderSays(void**) {
  assert_text(Text(Step(2)),
              "forward 0 0, loss 0, backward 0 0, forward 0 1, loss 1, backward 0 1, norm, optimize 0, ");
  assert_text(Text(Step(1, BackwardForm::kSplit)),
              "forward 0 0, loss 0, backward_input 0 0, backward_weight 0 0, norm, optimize 0, ");
}

void TextReadsBack(void**) {
  for (int kind = 0; kind < kInstructionKinds; ++kind) {
    Instruction instruction{static_cast<InstructionKind>(kind)};
    if (HasMinistage(instruction.kind)) instruction.ministage = 7;
    if (HasMicroBatch(instruction.kind)) instruction.micro_batch = 123456789012;
    Result<Instruction> read = ParseInstruction(InstructionText(instruction));
    assert_ok(read);
    assert_true(*read == instruction);
  }
}

void BadTextIsRefused(void**) {
  for (const char* text : {"", "forward", "forward 0", "forward 0 3 1", "forward 0 3 ", "forward  0 3",
                           "forward 0 -1", "forward 0 03", "forward 0 x", "loss", "norm 0", "optimize",
                           "backwards 0 0", "Forward 0 0", "loss 99999999999999999999"}) {
    assert_code(ParseInstruction(text), ErrorCode::INVALID_OPTION);
  }
}

void GeneratedListsAreAccepted(void**) {
  for (int64_t micro_batches : {1, 2, 3, 17}) {
    assert_ok(VerifyStep(Step(micro_batches), 1, micro_batches));
    assert_ok(VerifyStep(Step(micro_batches, BackwardForm::kSplit), 1, micro_batches));
  }
}

void EveryDroppedInstructionIsNoticed(void**) {
  for (BackwardForm form : {BackwardForm::kJoint, BackwardForm::kSplit}) {
    const std::vector<Instruction> good = Step(3, form);
    for (size_t i = 0; i < good.size(); ++i) {
      std::vector<Instruction> list = good;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      assert_code(VerifyStep(list, 1, 3), ErrorCode::INTERNAL);
    }
  }
}

void EveryRepeatedInstructionIsNoticed(void**) {
  for (BackwardForm form : {BackwardForm::kJoint, BackwardForm::kSplit}) {
    const std::vector<Instruction> good = Step(3, form);
    for (size_t i = 0; i < good.size(); ++i) {
      for (size_t place = 0; place <= good.size(); ++place) {
        std::vector<Instruction> list = good;
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), good[i]);
        assert_code(VerifyStep(list, 1, 3), ErrorCode::INTERNAL);
      }
    }
  }
}

// Whether the order respects what each instruction needs, decided anew and without the verifier's code.
bool OrderIsGood(const std::vector<Instruction>& list) {
  auto place = [&](InstructionKind kind, int64_t micro_batch) {
    auto found = std::find(list.begin(), list.end(), Instruction{kind, 0, micro_batch});
    return found - list.begin();
  };
  const auto norm = place(InstructionKind::kNorm, 0);
  for (int64_t i = 0; i < 2; ++i) {
    if (place(InstructionKind::kForward, i) > place(InstructionKind::kLoss, i)) return false;
    if (place(InstructionKind::kLoss, i) > place(InstructionKind::kBackward, i)) return false;
    if (place(InstructionKind::kBackward, i) > norm) return false;
  }
  return norm < place(InstructionKind::kOptimize, 0);
}

void EveryOrderIsJudgedRight(void**) {
  std::vector<Instruction> list = Step(2);
  std::vector<size_t> order(list.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  int64_t accepted = 0;
  do {
    std::vector<Instruction> shuffled;
    for (size_t i : order) shuffled.push_back(list[i]);
    const bool good = OrderIsGood(shuffled);
    assert_int_equal(VerifyStep(shuffled, 1, 2).ok(), good);
    accepted += good ? 1 : 0;
  } while (std::next_permutation(order.begin(), order.end()));
  assert_int_equal(accepted, 20);  // two chains of three interleave in 20 ways, then norm, then optimize
}

void ForeignInstructionsAreRefused(void**) {
  for (Instruction foreign : {Instruction{InstructionKind::kForward, 1, 0},
                              {InstructionKind::kForward, -1, 0},
                              {InstructionKind::kLoss, 0, 2},
                              {InstructionKind::kLoss, 0, -1},
                              {InstructionKind::kOptimize, 1, 0},
                              {InstructionKind::kValidate, 0, 0},
                              {InstructionKind::kSnapshot, 0, 0},
                              {InstructionKind::kPredict, 0, 0}}) {
    std::vector<Instruction> list = Step(2);
    list.insert(list.begin(), foreign);
    assert_code(VerifyStep(list, 1, 2), ErrorCode::INTERNAL);
  }
}

void SeveralMinistagesGoUpAndDown(void**) {
  std::vector<Instruction> list = {{InstructionKind::kForward, 0, 0},  {InstructionKind::kForward, 1, 0},
                                   {InstructionKind::kLoss, 0, 0},     {InstructionKind::kBackward, 1, 0},
                                   {InstructionKind::kBackward, 0, 0}, {InstructionKind::kNorm},
                                   {InstructionKind::kOptimize, 0, 0}, {InstructionKind::kOptimize, 1, 0}};
  assert_ok(VerifyStep(list, 2, 1));
  std::swap(list[0], list[1]);
  assert_code(VerifyStep(list, 2, 1), ErrorCode::INTERNAL);
  std::swap(list[0], list[1]);
  std::swap(list[3], list[4]);
  assert_code(VerifyStep(list, 2, 1), ErrorCode::INTERNAL);
}

void RefusalsSayWhatAndWhere(void**) {
  std::vector<Instruction> list = Step(2);
  std::swap(list[1], list[2]);
  assert_text(VerifyStep(list, 1, 2).message(),
              "instruction list refused at backward 0 0 (number 1): its loss is not there");
}

}  // namespace
}  // namespace traind::plan

int main() {
  using namespace traind::plan;
  const CMUnitTest tests[] = {
      cmocka_unit_test(StepIsWhatTheHeaderSays),
      cmocka_unit_test(TextReadsBack),
      cmocka_unit_test(BadTextIsRefused),
      cmocka_unit_test(GeneratedListsAreAccepted),
      cmocka_unit_test(EveryDroppedInstructionIsNoticed),
      cmocka_unit_test(EveryRepeatedInstructionIsNoticed),
      cmocka_unit_test(EveryOrderIsJudgedRight),
      cmocka_unit_test(ForeignInstructionsAreRefused),
      cmocka_unit_test(SeveralMinistagesGoUpAndDown),
      cmocka_unit_test(RefusalsSayWhatAndWhere),
  };
  return cmocka_run_group_tests_name("schedule", tests, nullptr, nullptr);
}
