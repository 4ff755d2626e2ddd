// Turns the operands of a call into pointers and calls the operator.
#include "engine/model/execute.h"

#include "engine/ops/attention.h"
#include "engine/ops/bias.h"
#include "engine/ops/cached_attention.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/embedding.h"
#include "engine/ops/gelu.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/linear.h"
#include "engine/ops/position.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/rope.h"
#include "engine/ops/square_norm.h"
#include "engine/ops/swiglu.h"

namespace traind::model {
namespace {

static_assert(plan::kMaxHeadSize <= ops::kMaxHeadSize, "plans promise what attention cannot do");

using plan::Access;
using plan::OpCall;
using plan::Operand;
using plan::OpKind;
using plan::Pass;
using plan::Role;

// One call's view of the arena.
class Operands {
 public:
  Operands(const OpCall& call, const Execution& execution) : call_(call), execution_(execution) {}

  // nullptr if the call has no operand of that role.
  template <typename T>
  T* Of(Role role) const {
    return reinterpret_cast<T*>(Address(call_.Find(role)));
  }
  float* Float(Role role) const { return Of<float>(role); }
  int32_t* Int(Role role) const { return reinterpret_cast<int32_t*>(Address(call_.Find(role))); }
  Workspace Scratch() const {
    const Operand* operand = call_.Find(Role::kWorkspace);
    return {Address(operand), operand == nullptr ? 0 : operand->bytes};
  }

  // Whether a gradient begins with this call: what lies there is of the step before.
  bool Begins(Role role) const {
    const Operand* operand = call_.Find(role);
    return operand != nullptr && operand->access == Access::kAccumulate && execution_.first_micro_batch;
  }

  // The gradient of a weight or bias, to which an operator adds: zeroed first where it begins.
  Result<float*> GradientToAddTo(Role role = Role::kWeightGradient) const {
    float* gradient = Float(role);
    if (Begins(role)) {
      const Operand* operand = call_.Find(role);
      TRAIND_TRY(ops::Fill(execution_.context, operand->bytes / 4, 0.0F, gradient));
    }
    return gradient;
  }

 private:
  std::byte* Address(const Operand* operand) const {
    if (operand == nullptr) return nullptr;
    const plan::Slot& slot = execution_.table.slots[static_cast<size_t>(operand->slot)];
    return execution_.arena + slot.offset + operand->offset;
  }

  const OpCall& call_;
  const Execution& execution_;
};

template <typename T>
Status Embedding(const OpCall& call, const Operands& at, Execution* run) {
  const ops::EmbeddingShape shape{run->rows(), call.dimensions.input, call.dimensions.output};
  if (call.pass == Pass::kForward) {
    return ops::EmbeddingForward(run->context, shape, at.Int(Role::kInput), at.Of<T>(Role::kWeight),
                                 at.Of<T>(Role::kOutput));
  }
  TRAIND_ASSIGN(float* gradient, at.GradientToAddTo());
  return ops::EmbeddingBackwardWeight(run->context, shape, at.Int(Role::kInput),
                                      at.Of<T>(Role::kOutputGradient), gradient);
}

template <typename T>
Status RmsNorm(const OpCall& call, const Operands& at, Execution* run) {
  const ops::RmsNormShape shape{run->rows(), call.dimensions.input,
                                static_cast<float>(run->table.model.rms_norm_eps)};
  T* input = at.Of<T>(Role::kInput);
  switch (call.pass) {
    case Pass::kForward:
      if (const T* residual = at.Of<T>(Role::kResidual)) {
        return ops::ResidualRmsNormForward(run->context, shape, residual, input, at.Of<T>(Role::kWeight),
                                           input, at.Of<T>(Role::kOutput), at.Float(Role::kStatistic));
      }
      return ops::RmsNormForward(run->context, shape, input, at.Of<T>(Role::kWeight), at.Of<T>(Role::kOutput),
                                 at.Float(Role::kStatistic));
    case Pass::kBackwardInput:
      return ops::RmsNormBackwardInput(run->context, shape, input, at.Of<T>(Role::kWeight),
                                       at.Float(Role::kStatistic), at.Of<T>(Role::kOutputGradient),
                                       at.Of<T>(Role::kInputGradient));
    case Pass::kBackwardWeight:
      break;
  }
  TRAIND_ASSIGN(float* gradient, at.GradientToAddTo());
  return ops::RmsNormBackwardWeight(run->context, shape, input, at.Float(Role::kStatistic),
                                    at.Of<T>(Role::kOutputGradient), gradient);
}

template <typename T>
Status Position(const OpCall& call, const Operands& at, Execution* run) {
  const ops::PositionShape shape{run->sequences, run->sequence_length,
                                 call.dimensions.input - run->first_position, call.dimensions.output};
  if (call.pass == Pass::kForward) {
    const T* first = at.Of<T>(Role::kWeight) + run->first_position * call.dimensions.output;
    return ops::PositionForward(run->context, shape, first, at.Of<T>(Role::kInput));
  }
  TRAIND_ASSIGN(float* gradient, at.GradientToAddTo());
  return ops::PositionBackwardWeight(run->context, shape, at.Of<T>(Role::kOutputGradient), gradient);
}

template <typename T>
Status LayerNorm(const OpCall& call, const Operands& at, Execution* run) {
  const ops::LayerNormShape shape{run->rows(), call.dimensions.input,
                                  static_cast<float>(run->table.model.layer_norm_epsilon)};
  T* input = at.Of<T>(Role::kInput);
  switch (call.pass) {
    case Pass::kForward:
      if (const T* residual = at.Of<T>(Role::kResidual)) {
        return ops::ResidualLayerNormForward(run->context, shape, residual, input, at.Of<T>(Role::kWeight),
                                             at.Of<T>(Role::kBias), input, at.Of<T>(Role::kOutput),
                                             at.Float(Role::kStatistic));
      }
      return ops::LayerNormForward(run->context, shape, input, at.Of<T>(Role::kWeight), at.Of<T>(Role::kBias),
                                   at.Of<T>(Role::kOutput), at.Float(Role::kStatistic));
    case Pass::kBackwardInput:
      return ops::LayerNormBackwardInput(run->context, shape, input, at.Of<T>(Role::kWeight),
                                         at.Float(Role::kStatistic), at.Of<T>(Role::kOutputGradient),
                                         at.Of<T>(Role::kInputGradient));
    case Pass::kBackwardWeight:
      break;
  }
  TRAIND_ASSIGN(float* weight_gradient, at.GradientToAddTo());
  TRAIND_ASSIGN(float* bias_gradient, at.GradientToAddTo(Role::kBiasGradient));
  return ops::LayerNormBackwardWeight(run->context, shape, input, at.Float(Role::kStatistic),
                                      at.Of<T>(Role::kOutputGradient), weight_gradient, bias_gradient);
}

template <typename T>
Status LinearBackwardWeight(const ops::LinearShape& shape, const Operands& at, Execution* run) {
  const T* output_gradient = at.Of<T>(Role::kOutputGradient);
  const ops::Accumulate accumulate =
      at.Begins(Role::kWeightGradient) ? ops::Accumulate::kNo : ops::Accumulate::kYes;
  TRAIND_TRY(ops::LinearBackwardWeight(run->context, shape, output_gradient, at.Of<T>(Role::kInput),
                                       at.Float(Role::kWeightGradient), accumulate, at.Scratch()));
  TRAIND_ASSIGN(float* bias_gradient, at.GradientToAddTo(Role::kBiasGradient));
  if (bias_gradient == nullptr) return Ok();
  return ops::BiasBackwardWeight(run->context, {shape.rows, shape.outputs}, output_gradient, bias_gradient);
}

template <typename T>
Status Linear(const OpCall& call, const Operands& at, Execution* run) {
  ops::LinearShape shape{
      run->rows(), call.dimensions.input, call.dimensions.output,
      call.dimensions.input_major ? ops::WeightOrder::kInputOutput : ops::WeightOrder::kOutputInput};
  const T* input = at.Of<T>(Role::kInput);
  switch (call.pass) {
    case Pass::kForward:
      if (call.last_row) {
        input += run->last_row * shape.inputs;
        shape.rows = 1;
      }
      return ops::LinearForward(run->context, shape, input, at.Of<T>(Role::kWeight), at.Of<T>(Role::kBias),
                                at.Of<T>(Role::kOutput), at.Scratch());
    case Pass::kBackwardInput:
      return ops::LinearBackwardInput(run->context, shape, at.Of<T>(Role::kOutputGradient),
                                      at.Of<T>(Role::kWeight), at.Of<T>(Role::kInputGradient),
                                      ops::Accumulate::kNo, at.Scratch());
    case Pass::kBackwardWeight:
      break;
  }
  return LinearBackwardWeight<T>(shape, at, run);
}

template <typename T>
Status Rope(const OpCall& call, const Operands& at, Execution* run) {
  const ops::RopeShape shape{run->sequences, run->sequence_length, call.dimensions.heads,
                             call.dimensions.kv_heads, call.dimensions.head_size};
  auto rotate = call.pass == Pass::kForward ? ops::RopeForward<T> : ops::RopeBackwardInput<T>;
  const float* table = at.Float(Role::kTable) + run->first_position * call.dimensions.head_size;
  return rotate(run->context, shape, table, at.Of<T>(Role::kInput));
}

// Text is generated in fp32.
Status CachedAttention(const OpCall& call, const Operands& at, Execution* run) {
  const ops::CachedAttentionShape shape{
      run->rows(),           run->first_position,      run->table.context,
      call.dimensions.heads, call.dimensions.kv_heads, call.dimensions.head_size};
  return ops::CachedAttentionForward(run->context, shape, at.Float(Role::kInput), at.Float(Role::kCache),
                                     at.Float(Role::kOutput));
}

template <typename T>
Status Attention(const OpCall& call, const Operands& at, Execution* run) {
  const ops::AttentionShape shape{run->sequences, run->sequence_length, call.dimensions.heads,
                                  call.dimensions.kv_heads, call.dimensions.head_size};
  if (call.pass == Pass::kForward) {
    return ops::AttentionForward(run->context, shape, at.Of<T>(Role::kInput), at.Of<T>(Role::kOutput),
                                 at.Float(Role::kStatistic), at.Scratch());
  }
  return ops::AttentionBackwardInput(run->context, shape, at.Of<T>(Role::kInput), at.Of<T>(Role::kOutput),
                                     at.Float(Role::kStatistic), at.Of<T>(Role::kOutputGradient),
                                     at.Of<T>(Role::kInputGradient), at.Scratch());
}

template <typename T>
Status Swiglu(const OpCall& call, const Operands& at, Execution* run) {
  if (call.pass == Pass::kForward) {
    return ops::SwigluForward(run->context, {run->rows(), call.dimensions.output}, at.Of<T>(Role::kInput),
                              at.Of<T>(Role::kOutput));
  }
  T* gate_up = at.Of<T>(Role::kInput);  // becomes its own gradient
  return ops::SwigluBackwardInput(run->context, {run->rows(), call.dimensions.output}, gate_up,
                                  at.Of<T>(Role::kOutputGradient), gate_up);
}

template <typename T>
Status Gelu(const OpCall& call, const Operands& at, Execution* run) {
  const int64_t elements = run->rows() * call.dimensions.output;
  T* input = at.Of<T>(Role::kInput);  // backward, it becomes its own gradient
  if (call.pass == Pass::kForward) {
    return ops::GeluForward(run->context, elements, input, at.Of<T>(Role::kOutput));
  }
  return ops::GeluBackwardInput(run->context, elements, input, at.Of<T>(Role::kOutputGradient), input);
}

template <typename T>
Status CrossEntropy(const OpCall& call, const Operands& at, Execution* run) {
  const ops::CrossEntropyShape shape{run->rows(), call.dimensions.input};
  if (call.pass == Pass::kForward) {
    return ops::CrossEntropyForward(run->context, shape, at.Int(Role::kTarget), at.Of<T>(Role::kInput),
                                    &run->loss_sum, at.Scratch());
  }
  return ops::CrossEntropyForwardBackward(run->context, shape, at.Int(Role::kTarget), run->gradient_scale,
                                          at.Of<T>(Role::kInput), &run->loss_sum, at.Scratch());
}

Status Adamw(const OpCall& call, const Operands& at, Execution* run) {
  if (run->update == nullptr) return Status(ErrorCode::INTERNAL, "adamw is called without settings");
  ops::AdamwSettings settings = *run->update;
  if (!call.decays) settings.weight_decay = 0;
  return ops::Adamw(run->context, settings, call.dimensions.rows, at.Float(Role::kWeightGradient),
                    at.Float(Role::kWeight), at.Float(Role::kMoment1), at.Float(Role::kMoment2),
                    at.Of<Bfloat16>(Role::kOutput));
}

template <typename T>
Status ExecuteTyped(const OpCall& call, Execution* run) {
  const Operands at(call, *run);
  switch (call.kind) {
    case OpKind::kEmbedding:
      return Embedding<T>(call, at, run);
    case OpKind::kPosition:
      return Position<T>(call, at, run);
    case OpKind::kRmsNorm:
      return RmsNorm<T>(call, at, run);
    case OpKind::kLayerNorm:
      return LayerNorm<T>(call, at, run);
    case OpKind::kLinear:
      return Linear<T>(call, at, run);
    case OpKind::kRope:
      return Rope<T>(call, at, run);
    case OpKind::kAttention:
      return Attention<T>(call, at, run);
    case OpKind::kCachedAttention:
      return CachedAttention(call, at, run);
    case OpKind::kSwiglu:
      return Swiglu<T>(call, at, run);
    case OpKind::kGelu:
      return Gelu<T>(call, at, run);
    case OpKind::kCrossEntropy:
      return CrossEntropy<T>(call, at, run);
    case OpKind::kFill:
      return ops::Fill(run->context, run->rows() * call.dimensions.output, 0.0F, at.Of<T>(Role::kOutput));
    case OpKind::kAdd:
      return ops::Add(run->context, run->rows() * call.dimensions.output, at.Of<T>(Role::kInput),
                      at.Of<T>(Role::kResidual), at.Of<T>(Role::kInput));
    case OpKind::kSquareNorm:
      return ops::SquareNorm(run->context, call.dimensions.rows, at.Float(Role::kInput), &run->square_sum);
    case OpKind::kAdamw:
      return Adamw(call, at, run);
  }
  return Status(ErrorCode::INTERNAL, "an operator of unknown kind");
}

}  // namespace

Status Execute(const OpCall& call, Execution* run) {
  return call.type == DType::kBFloat16 ? ExecuteTyped<Bfloat16>(call, run) : ExecuteTyped<float>(call, run);
}

}  // namespace traind::model
