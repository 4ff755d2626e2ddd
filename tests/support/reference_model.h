// A model in fp64: runs the same operator programs as the engine's model, on the reference operators.
//
// Slots have memory of their own here, so that nothing depends on placement.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/plan/memory.h"
#include "tests/support/reference_ops.h"

namespace traind::reference {

class ReferenceModel {
 public:
  explicit ReferenceModel(plan::MemoryTable table);

  // Flat, in the order of table().parameters.
  Values& weights() { return Slot(plan::kWeightsSlot); }
  Values& gradients() { return Slot(plan::kGradientsSlot); }
  Tokens& tokens() { return tokens_; }
  Tokens& targets() { return targets_; }
  const plan::MemoryTable& table() const { return table_; }

  // Any kind but optimize and predict.
  void Run(const plan::Instruction& instruction);

  // The sum of all losses since it was last taken.
  double TakeLoss();

 private:
  Values& Slot(std::string_view name);
  Values Read(const plan::OpCall& call, plan::Role role) const;
  void Write(const plan::OpCall& call, plan::Role role, const Values& values);
  void AddGradient(const plan::OpCall& call, plan::Role role, bool first_micro_batch, const Values& gradient);
  void Execute(const plan::OpCall& call, bool first_micro_batch);
  void Embedding(const plan::OpCall& call, bool first_micro_batch);
  void Position(const plan::OpCall& call, bool first_micro_batch);
  Values NormInput(const plan::OpCall& call);
  void RmsNorm(const plan::OpCall& call, bool first_micro_batch);
  void LayerNorm(const plan::OpCall& call, bool first_micro_batch);
  void Linear(const plan::OpCall& call, bool first_micro_batch);
  void RopeOrAttention(const plan::OpCall& call);
  void Swiglu(const plan::OpCall& call);
  void Gelu(const plan::OpCall& call);
  void CrossEntropy(const plan::OpCall& call);

  plan::MemoryTable table_;
  std::vector<Values> slots_;
  Tokens tokens_, targets_;
  double loss_ = 0;
};

}  // namespace traind::reference
