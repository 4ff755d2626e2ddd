// Interprets operator programs in fp64.
#include "tests/support/reference_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace traind::reference {

using plan::OpCall;
using plan::OpKind;
using plan::Pass;
using plan::Role;

namespace {

Values Sum(Values a, const Values& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

ops::RopeShape RopeShapeOf(const plan::OpDimensions& size) {
  return {size.sequences, size.sequence_length, size.heads, size.kv_heads, size.head_size};
}

ops::AttentionShape AttentionShapeOf(const plan::OpDimensions& size) {
  return {size.sequences, size.sequence_length, size.heads, size.kv_heads, size.head_size};
}

}  // namespace

ReferenceModel::ReferenceModel(plan::MemoryTable table) : table_(std::move(table)) {
  for (const plan::Slot& slot : table_.slots) slots_.emplace_back(static_cast<size_t>(slot.bytes / 4));
  const auto rows = static_cast<size_t>(table_.sequences * table_.sequence_length);
  tokens_.resize(rows);
  targets_.resize(rows);
}

Values& ReferenceModel::Slot(std::string_view name) {
  for (size_t i = 0; i < table_.slots.size(); ++i) {
    if (table_.slots[i].name == name) return slots_[i];
  }
  std::fprintf(stderr, "no slot %s\n", std::string(name).c_str());
  std::abort();
}

double ReferenceModel::TakeLoss() {
  return std::exchange(loss_, 0.0);
}

void ReferenceModel::Run(const plan::Instruction& instruction) {
  const plan::Program* program = table_.FindProgram(instruction.kind);
  for (const OpCall& call : program->calls) Execute(call, instruction.micro_batch == 0);
}

// The range of the operand of that role; empty if the call has none.
Values ReferenceModel::Read(const OpCall& call, Role role) const {
  const plan::Operand* operand = call.Find(role);
  if (operand == nullptr) return {};
  const Values& slot = slots_[static_cast<size_t>(operand->slot)];
  const auto begin = slot.begin() + operand->offset / 4;
  return Values(begin, begin + operand->bytes / 4);
}

void ReferenceModel::Write(const OpCall& call, Role role, const Values& values) {
  const plan::Operand* operand = call.Find(role);
  Values& slot = slots_[static_cast<size_t>(operand->slot)];
  std::ranges::copy(values, slot.begin() + operand->offset / 4);
}

void ReferenceModel::AddGradient(const OpCall& call, Role role, bool first_micro_batch,
                                 const Values& gradient) {
  const bool begins = call.Find(role)->access == plan::Access::kAccumulate && first_micro_batch;
  Write(call, role, begins ? gradient : Sum(Read(call, role), gradient));
}

void ReferenceModel::Execute(const OpCall& call, bool first_micro_batch) {
  switch (call.kind) {
    case OpKind::kEmbedding:
      return Embedding(call, first_micro_batch);
    case OpKind::kPosition:
      return Position(call, first_micro_batch);
    case OpKind::kRmsNorm:
      return RmsNorm(call, first_micro_batch);
    case OpKind::kLayerNorm:
      return LayerNorm(call, first_micro_batch);
    case OpKind::kLinear:
      return Linear(call, first_micro_batch);
    case OpKind::kRope:
    case OpKind::kAttention:
      return RopeOrAttention(call);
    case OpKind::kSwiglu:
      return Swiglu(call);
    case OpKind::kGelu:
      return Gelu(call);
    case OpKind::kCrossEntropy:
      return CrossEntropy(call);
    case OpKind::kFill:
      return Write(call, Role::kOutput, Values(Read(call, Role::kOutput).size()));
    case OpKind::kAdd:
      return Write(call, Role::kInput, Sum(Read(call, Role::kInput), Read(call, Role::kResidual)));
    case OpKind::kCachedAttention:  // of generation, which has tests of its own
    case OpKind::kSquareNorm:
    case OpKind::kAdamw:
      return;
  }
}

void ReferenceModel::Embedding(const OpCall& call, bool first_micro_batch) {
  const ops::EmbeddingShape shape{call.dimensions.rows, call.dimensions.input, call.dimensions.output};
  if (call.pass == Pass::kForward) {
    return Write(call, Role::kOutput, EmbeddingForward(shape, tokens_, Read(call, Role::kWeight)));
  }
  AddGradient(call, Role::kWeightGradient, first_micro_batch,
              EmbeddingBackwardWeight(shape, tokens_, Read(call, Role::kOutputGradient)));
}

void ReferenceModel::Position(const OpCall& call, bool first_micro_batch) {
  const ops::PositionShape shape{call.dimensions.sequences, call.dimensions.sequence_length,
                                 call.dimensions.input, call.dimensions.output};
  if (call.pass == Pass::kForward) {
    return Write(call, Role::kInput,
                 PositionForward(shape, Read(call, Role::kWeight), Read(call, Role::kInput)));
  }
  AddGradient(call, Role::kWeightGradient, first_micro_batch,
              PositionBackwardWeight(shape, Read(call, Role::kOutputGradient)));
}

// With the residual, where the call has one.
Values ReferenceModel::NormInput(const OpCall& call) {
  Values input = Read(call, Role::kInput);
  if (call.Find(Role::kResidual) == nullptr) return input;
  input = Sum(std::move(input), Read(call, Role::kResidual));
  Write(call, Role::kInput, input);
  return input;
}

void ReferenceModel::LayerNorm(const OpCall& call, bool first_micro_batch) {
  const ops::LayerNormShape shape{call.dimensions.rows, call.dimensions.input,
                                  static_cast<float>(table_.model.layer_norm_epsilon)};
  const Values input = NormInput(call);
  const Values weight = Read(call, Role::kWeight), output_gradient = Read(call, Role::kOutputGradient);
  if (call.pass == Pass::kForward) {
    return Write(call, Role::kOutput, LayerNormForward(shape, input, weight, Read(call, Role::kBias)).y_RC);
  }
  if (call.pass == Pass::kBackwardInput) {
    const Values gradient = LayerNormBackwardInput(shape, input, weight, output_gradient);
    return Write(call, Role::kInputGradient, Sum(Read(call, Role::kInputGradient), gradient));
  }
  const LayerNormGradients gradients = LayerNormBackwardWeight(shape, input, output_gradient);
  AddGradient(call, Role::kWeightGradient, first_micro_batch, gradients.weight_C);
  AddGradient(call, Role::kBiasGradient, first_micro_batch, gradients.bias_C);
}

void ReferenceModel::RmsNorm(const OpCall& call, bool first_micro_batch) {
  const ops::RmsNormShape shape{call.dimensions.rows, call.dimensions.input,
                                static_cast<float>(table_.model.rms_norm_eps)};
  const Values input = NormInput(call);
  if (call.pass == Pass::kForward) {
    return Write(call, Role::kOutput, RmsNormForward(shape, input, Read(call, Role::kWeight)).y_RC);
  }
  const Values output_gradient = Read(call, Role::kOutputGradient);
  if (call.pass == Pass::kBackwardInput) {
    const Values gradient = RmsNormBackwardInput(shape, input, Read(call, Role::kWeight), output_gradient);
    return Write(call, Role::kInputGradient, Sum(Read(call, Role::kInputGradient), gradient));
  }
  AddGradient(call, Role::kWeightGradient, first_micro_batch,
              RmsNormBackwardWeight(shape, input, output_gradient));
}

void ReferenceModel::Linear(const OpCall& call, bool first_micro_batch) {
  const ops::LinearShape shape{
      call.dimensions.rows, call.dimensions.input, call.dimensions.output,
      call.dimensions.input_major ? ops::WeightOrder::kInputOutput : ops::WeightOrder::kOutputInput};
  const ops::BiasShape bias{shape.rows, shape.outputs};
  const Values output_gradient = Read(call, Role::kOutputGradient);
  if (call.pass == Pass::kForward) {
    Values output = LinearForward(shape, Read(call, Role::kInput), Read(call, Role::kWeight));
    if (call.Find(Role::kBias) != nullptr) output = BiasForward(bias, Read(call, Role::kBias), output);
    return Write(call, Role::kOutput, output);
  }
  if (call.pass == Pass::kBackwardInput) {
    return Write(call, Role::kInputGradient,
                 LinearBackwardInput(shape, output_gradient, Read(call, Role::kWeight)));
  }
  AddGradient(call, Role::kWeightGradient, first_micro_batch,
              LinearBackwardWeight(shape, output_gradient, Read(call, Role::kInput)));
  if (call.Find(Role::kBiasGradient) == nullptr) return;
  AddGradient(call, Role::kBiasGradient, first_micro_batch, BiasBackwardWeight(bias, output_gradient));
}

void ReferenceModel::RopeOrAttention(const OpCall& call) {
  const Values input = Read(call, Role::kInput);
  if (call.kind == OpKind::kRope) {
    const double direction = call.pass == Pass::kForward ? 1 : -1;
    return Write(call, Role::kInput,
                 Rope(RopeShapeOf(call.dimensions), table_.model.rope_theta, direction, input));
  }
  const ops::AttentionShape shape = AttentionShapeOf(call.dimensions);
  if (call.pass == Pass::kForward) {
    return Write(call, Role::kOutput, AttentionForward(shape, input).out_RHD);
  }
  Write(call, Role::kInputGradient, AttentionBackwardInput(shape, input, Read(call, Role::kOutputGradient)));
}

void ReferenceModel::Swiglu(const OpCall& call) {
  const ops::SwigluShape shape{call.dimensions.rows, call.dimensions.output};
  const Values gate_up = Read(call, Role::kInput);
  if (call.pass == Pass::kForward) return Write(call, Role::kOutput, SwigluForward(shape, gate_up));
  Write(call, Role::kInput, SwigluBackwardInput(shape, gate_up, Read(call, Role::kOutputGradient)));
}

void ReferenceModel::Gelu(const OpCall& call) {
  const Values input = Read(call, Role::kInput);
  if (call.pass == Pass::kForward) return Write(call, Role::kOutput, GeluForward(input));
  Write(call, Role::kInput, GeluBackwardInput(input, Read(call, Role::kOutputGradient)));
}

void ReferenceModel::CrossEntropy(const OpCall& call) {
  const ops::CrossEntropyShape shape{call.dimensions.rows, call.dimensions.input};
  const Values logits = Read(call, Role::kInput);
  loss_ += CrossEntropyForward(shape, targets_, logits);
  if (call.pass == Pass::kForward) return;
  const int64_t step_tokens = table_.micro_batches * table_.sequences * table_.sequence_length;
  Write(call, Role::kInput,
        CrossEntropyBackwardInput(shape, targets_, logits, 1.0 / static_cast<double>(step_tokens)));
}

}  // namespace traind::reference
