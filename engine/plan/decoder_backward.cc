// The backward programs of a decoder.
//
// One gradient stream runs against the residual stream. Jointly, each norm adds to it in place, and the
// weight's gradient is taken before the input's, so that what only the former reads makes room for the
// latter. Split, every stage of the stream has its own slot, because backward_weight still reads it later.
//
// What is recomputed stands right before what reads it first. Slots that forward wrote and only the
// recomputed ones replace die in the forward pass: that is all that makes memory smaller.
#include <algorithm>

#include "engine/plan/decoder_program.h"
#include "engine/plan/saturating.h"

namespace traind::plan {

void DecoderProgram::BackwardLinear(OpBuilder weight_pass, OpBuilder input_pass, int32_t input,
                                    const Affine& affine, int64_t inputs, int64_t outputs,
                                    int32_t output_gradient, int32_t input_gradient) {
  const int64_t elements = SaturatingMultiply(inputs, outputs);
  Emit(weight_pass.Read(Role::kOutputGradient, output_gradient)
           .Read(Role::kInput, input)
           .Range(Role::kWeightGradient, Access::kAccumulate, gradients_, affine.weight, elements)
           .Range(Role::kBiasGradient, Access::kAccumulate, gradients_, affine.bias, outputs)
           .Scratch(workspace_)
           .Take());
  Emit(input_pass.Read(Role::kOutputGradient, output_gradient)
           .Range(Role::kWeight, Access::kRead, weights_, affine.weight, elements)
           .Write(Role::kInputGradient, input_gradient)
           .Scratch(workspace_)
           .Take());
}

void DecoderProgram::BackwardLayerLinear(int64_t layer, int32_t input, const Affine& affine, int64_t inputs,
                                         int64_t outputs, int32_t output_gradient, int32_t input_gradient) {
  BackwardLinear(LayerLinear(Pass::kBackwardWeight, layer, inputs, outputs),
                 LayerLinear(Pass::kBackwardInput, layer, inputs, outputs), input, affine, inputs, outputs,
                 output_gradient, input_gradient);
}

// Adds to the gradient stream (-1: it begins here) and returns the slot in which it goes on.
int32_t DecoderProgram::BackwardNorm(int64_t layer, int32_t input, const Affine& affine, int32_t statistic,
                                     int32_t output_gradient, int32_t stream, const std::string& name) {
  Emit(Op(norm_, Pass::kBackwardWeight, layer, hidden_, hidden_)
           .Read(Role::kInput, input)
           .Read(Role::kStatistic, statistic)
           .Read(Role::kOutputGradient, output_gradient)
           .Range(Role::kWeightGradient, Access::kAccumulate, gradients_, affine.weight, hidden_)
           .Range(Role::kBiasGradient, Access::kAccumulate, gradients_, affine.bias, hidden_)
           .Take());
  const bool fresh = stream < 0 || form_ == BackwardForm::kSplit;
  const int32_t result = fresh ? Rows(name, hidden_) : stream;
  if (fresh) {
    Emit(Op(OpKind::kFill, Pass::kBackwardInput, layer, 0, hidden_).Write(Role::kOutput, result).Take());
  }
  Emit(Op(norm_, Pass::kBackwardInput, layer, hidden_, hidden_)
           .Read(Role::kInput, input)
           .Range(Role::kWeight, Access::kRead, weights_, affine.weight, hidden_)
           .Read(Role::kStatistic, statistic)
           .Read(Role::kOutputGradient, output_gradient)
           .Update(Role::kInputGradient, result)
           .Take());
  if (fresh && stream >= 0) {
    Emit(Op(OpKind::kAdd, Pass::kBackwardInput, layer, hidden_, hidden_)
             .Update(Role::kInput, result)
             .Read(Role::kResidual, stream)
             .Take());
  }
  return result;
}

// A norm's input already holds the sum with its residual where it was left.
void DecoderProgram::RecomputeLayer(const std::string& name, int64_t index, Layer* layer) {
  InputNorm(name, index, -1, layer);
  QueryKeyValue(name, index, layer);
  Attend(name, index, layer);
  AttentionOutput(name, index, layer);
  MiddleNorm(name, index, layer->input, layer);
  Widen(name, index, layer);
  Activate(name, index, layer);
}

// From the stream to the gradient of queries, keys and values as the linear made them.
int32_t DecoderProgram::BackwardAttention(const std::string& name, int64_t index, const Layer& layer,
                                          int32_t stream) {
  const int32_t d_attention = Rows(name + "attention.gradient", query_);
  BackwardLayerLinear(index, layer.attention, OfLayer(index, layout_.attention_output), query_, hidden_,
                      stream, d_attention);
  const int32_t d_query_key_value = Rows(name + "query_key_value.gradient", fused_);
  Emit(Op(OpKind::kAttention, Pass::kBackwardInput, index, fused_, query_)
           .Read(Role::kInput, layer.query_key_value)
           .Read(Role::kOutput, layer.attention)
           .Read(Role::kStatistic, layer.log_sum_exp)
           .Read(Role::kOutputGradient, d_attention)
           .Write(Role::kInputGradient, d_query_key_value)
           .Scratch(workspace_)
           .Take());
  if (rope_ >= 0) {
    Emit(Op(OpKind::kRope, Pass::kBackwardInput, index, fused_, fused_)
             .Read(Role::kTable, rope_)
             .Update(Role::kInput, d_query_key_value)
             .Take());
  }
  return d_query_key_value;
}

int32_t DecoderProgram::BackwardLayer(int64_t index, int32_t stream) {
  Layer layer = layers_[static_cast<size_t>(index)];
  const std::string name = "layers." + std::to_string(index) + ".", again = name + "again.";
  const bool selective = sizes_.recompute == Recompute::kSelective;
  if (sizes_.recompute == Recompute::kFull) RecomputeLayer(again, index, &layer);
  if (selective) Activate(again, index, &layer);
  const int32_t d_activated = Rows(name + "activated.gradient", intermediate_);
  BackwardLayerLinear(index, layer.activated, OfLayer(index, layout_.narrowing), intermediate_, hidden_,
                      stream, d_activated);
  Emit(Op(activation_, Pass::kBackwardInput, index, widened_, intermediate_)
           .Read(Role::kOutputGradient, d_activated)
           .Update(Role::kInput, layer.widened)
           .Take());
  if (selective) MiddleNorm(again, index, -1, &layer);
  const int32_t d_middle_norm = Rows(name + "middle_norm.gradient", hidden_);
  BackwardLayerLinear(index, layer.middle_norm, OfLayer(index, layout_.widening), hidden_, widened_,
                      layer.widened, d_middle_norm);
  stream = BackwardNorm(index, layer.middle, OfLayer(index, layout_.middle_norm), layer.middle_statistic,
                        d_middle_norm, stream, name + "middle.gradient");
  if (selective) Attend(again, index, &layer);
  const int32_t d_query_key_value = BackwardAttention(name, index, layer, stream);
  if (selective) InputNorm(again, index, -1, &layer);
  const int32_t d_input_norm = Rows(name + "input_norm.gradient", hidden_);
  BackwardLayerLinear(index, layer.input_norm, OfLayer(index, layout_.query_key_value), hidden_, fused_,
                      d_query_key_value, d_input_norm);
  return BackwardNorm(index, layer.input, OfLayer(index, layout_.input_norm), layer.input_statistic,
                      d_input_norm, stream, name + "input.gradient");
}

// A tied head has already written this gradient when the embedding adds to it.
void DecoderProgram::BackwardEmbedding(int32_t stream) {
  const bool tied = sizes_.model.tie_word_embeddings;
  Emit(Op(OpKind::kEmbedding, Pass::kBackwardWeight, -1, sizes_.model.vocab_size, hidden_)
           .Read(Role::kInput, tokens_)
           .Read(Role::kOutputGradient, stream)
           .Range(Role::kWeightGradient, tied ? Access::kUpdate : Access::kAccumulate, gradients_,
                  layout_.token_table, SaturatingMultiply(sizes_.model.vocab_size, hidden_))
           .Take());
  if (!traits_.learned_positions) return;
  const int64_t positions = sizes_.model.max_position_embeddings;
  Emit(Op(OpKind::kPosition, Pass::kBackwardWeight, -1, positions, hidden_)
           .Read(Role::kOutputGradient, stream)
           .Range(Role::kWeightGradient, Access::kAccumulate, gradients_, layout_.position_table,
                  SaturatingMultiply(positions, hidden_))
           .Take());
}

void DecoderProgram::Issue(BackwardForm form) {
  if (form == BackwardForm::kJoint) {
    builder_->Begin(InstructionKind::kBackward);
    return Flush();
  }
  builder_->Begin(InstructionKind::kBackwardInput);
  for (const OpCall& call : calls_) {
    if (call.pass != Pass::kBackwardWeight) builder_->Add(call);
  }
  builder_->Begin(InstructionKind::kBackwardWeight);
  for (const OpCall& call : calls_) {
    if (call.pass == Pass::kBackwardWeight) builder_->Add(call);
  }
  calls_.clear();
}

void DecoderProgram::Backward(BackwardForm form) {
  form_ = form;
  const int64_t vocabulary = sizes_.model.vocab_size;
  const int32_t d_final_norm = Rows("final_norm.gradient", hidden_);
  BackwardLinear(Op(OpKind::kLinear, Pass::kBackwardWeight, -1, hidden_, vocabulary),
                 Op(OpKind::kLinear, Pass::kBackwardInput, -1, hidden_, vocabulary), final_norm_,
                 {layout_.head, -1}, hidden_, vocabulary, logits_, d_final_norm);
  int32_t stream =
      BackwardNorm(-1, final_, layout_.final_norm, final_statistic_, d_final_norm, -1, "stream.gradient");
  for (int64_t index = sizes_.model.num_hidden_layers - 1; index >= 0; --index) {
    stream = BackwardLayer(index, stream);
  }
  BackwardEmbedding(stream);
  Issue(form);
}

}  // namespace traind::plan
