// The backward programs of the llama family.
//
// One gradient stream runs against the residual stream. Jointly, each norm adds to it in place, and the
// weight's gradient is taken before the input's, so that what only the former reads makes room for the
// latter. Split, every stage of the stream has its own slot, because backward_weight still reads it later.
#include <algorithm>

#include "engine/plan/llama_program.h"
#include "engine/plan/saturating.h"

namespace traind::plan {

void LlamaProgram::BackwardLinear(int64_t layer, int32_t input, int64_t weight, int64_t inputs,
                                  int64_t outputs, int32_t output_gradient, int32_t input_gradient) {
  const int64_t elements = SaturatingMultiply(inputs, outputs);
  calls_.push_back(Op(OpKind::kLinear, Pass::kBackwardWeight, layer, inputs, outputs)
                       .Read(Role::kOutputGradient, output_gradient)
                       .Read(Role::kInput, input)
                       .Range(Role::kWeightGradient, Access::kAccumulate, gradients_, weight, elements)
                       .Scratch(workspace_)
                       .Take());
  calls_.push_back(Op(OpKind::kLinear, Pass::kBackwardInput, layer, inputs, outputs)
                       .Read(Role::kOutputGradient, output_gradient)
                       .Range(Role::kWeight, Access::kRead, weights_, weight, elements)
                       .Write(Role::kInputGradient, input_gradient)
                       .Scratch(workspace_)
                       .Take());
}

// Adds to the gradient stream (-1: it begins here) and returns the slot in which it goes on.
int32_t LlamaProgram::BackwardNorm(int64_t layer, int32_t input, int64_t weight, int32_t rstd,
                                   int32_t output_gradient, int32_t stream, const std::string& name) {
  calls_.push_back(Op(OpKind::kRmsNorm, Pass::kBackwardWeight, layer, hidden_, hidden_)
                       .Read(Role::kInput, input)
                       .Read(Role::kStatistic, rstd)
                       .Read(Role::kOutputGradient, output_gradient)
                       .Range(Role::kWeightGradient, Access::kAccumulate, gradients_, weight, hidden_)
                       .Take());
  const bool fresh = stream < 0 || form_ == BackwardForm::kSplit;
  const int32_t result = fresh ? Rows(name, hidden_) : stream;
  if (fresh) {
    calls_.push_back(
        Op(OpKind::kFill, Pass::kBackwardInput, layer, 0, hidden_).Write(Role::kOutput, result).Take());
  }
  calls_.push_back(Op(OpKind::kRmsNorm, Pass::kBackwardInput, layer, hidden_, hidden_)
                       .Read(Role::kInput, input)
                       .Range(Role::kWeight, Access::kRead, weights_, weight, hidden_)
                       .Read(Role::kStatistic, rstd)
                       .Read(Role::kOutputGradient, output_gradient)
                       .Update(Role::kInputGradient, result)
                       .Take());
  if (fresh && stream >= 0) {
    calls_.push_back(Op(OpKind::kAdd, Pass::kBackwardInput, layer, hidden_, hidden_)
                         .Update(Role::kInput, result)
                         .Read(Role::kResidual, stream)
                         .Take());
  }
  return result;
}

int32_t LlamaProgram::BackwardLayer(int64_t index, int32_t stream) {
  const Layer& layer = layers_[static_cast<size_t>(index)];
  const std::string name = "layers." + std::to_string(index) + ".";
  const int32_t d_activated = Rows(name + "activated.gradient", intermediate_);
  BackwardLinear(index, layer.activated, LayerOffset(index, layout_.down_proj), intermediate_, hidden_,
                 stream, d_activated);
  calls_.push_back(Op(OpKind::kSwiglu, Pass::kBackwardInput, index, 2 * intermediate_, intermediate_)
                       .Read(Role::kOutputGradient, d_activated)
                       .Update(Role::kInput, layer.gate_up)
                       .Take());
  const int32_t d_middle_norm = Rows(name + "middle_norm.gradient", hidden_);
  BackwardLinear(index, layer.middle_norm, LayerOffset(index, layout_.gate_up), hidden_, 2 * intermediate_,
                 layer.gate_up, d_middle_norm);
  stream = BackwardNorm(index, layer.middle, LayerOffset(index, layout_.post_attention_layernorm),
                        layer.middle_rstd, d_middle_norm, stream, name + "middle.gradient");
  const int32_t d_attention = Rows(name + "attention.gradient", query_);
  BackwardLinear(index, layer.attention, LayerOffset(index, layout_.o_proj), query_, hidden_, stream,
                 d_attention);
  const int32_t d_query_key_value = Rows(name + "query_key_value.gradient", fused_);
  calls_.push_back(Op(OpKind::kAttention, Pass::kBackwardInput, index, fused_, query_)
                       .Read(Role::kInput, layer.query_key_value)
                       .Read(Role::kOutput, layer.attention)
                       .Read(Role::kStatistic, layer.log_sum_exp)
                       .Read(Role::kOutputGradient, d_attention)
                       .Write(Role::kInputGradient, d_query_key_value)
                       .Scratch(workspace_)
                       .Take());
  calls_.push_back(Op(OpKind::kRope, Pass::kBackwardInput, index, fused_, fused_)
                       .Read(Role::kTable, rope_)
                       .Update(Role::kInput, d_query_key_value)
                       .Take());
  const int32_t d_input_norm = Rows(name + "input_norm.gradient", hidden_);
  BackwardLinear(index, layer.input_norm, LayerOffset(index, layout_.query_key_value), hidden_, fused_,
                 d_query_key_value, d_input_norm);
  return BackwardNorm(index, layer.input, LayerOffset(index, layout_.input_layernorm), layer.input_rstd,
                      d_input_norm, stream, name + "input.gradient");
}

// A tied head has already written this gradient when the embedding adds to it.
void LlamaProgram::BackwardEmbedding(int32_t stream) {
  const bool tied = sizes_.model.tie_word_embeddings;
  calls_.push_back(Op(OpKind::kEmbedding, Pass::kBackwardWeight, -1, sizes_.model.vocab_size, hidden_)
                       .Read(Role::kInput, tokens_)
                       .Read(Role::kOutputGradient, stream)
                       .Range(Role::kWeightGradient, tied ? Access::kUpdate : Access::kAccumulate, gradients_,
                              layout_.embed_tokens, SaturatingMultiply(sizes_.model.vocab_size, hidden_))
                       .Take());
}

void LlamaProgram::Issue(BackwardForm form) {
  if (form == BackwardForm::kJoint) {
    builder_->Begin(InstructionKind::kBackward);
    for (OpCall& call : calls_) builder_->Add(std::move(call));
  } else {
    builder_->Begin(InstructionKind::kBackwardInput);
    for (const OpCall& call : calls_) {
      if (call.pass == Pass::kBackwardInput) builder_->Add(call);
    }
    builder_->Begin(InstructionKind::kBackwardWeight);
    for (const OpCall& call : calls_) {
      if (call.pass == Pass::kBackwardWeight) builder_->Add(call);
    }
  }
  calls_.clear();
}

void LlamaProgram::Backward(BackwardForm form) {
  form_ = form;
  const int32_t d_final_norm = Rows("final_norm.gradient", hidden_);
  BackwardLinear(-1, final_norm_, layout_.lm_head, hidden_, sizes_.model.vocab_size, logits_, d_final_norm);
  int32_t stream = BackwardNorm(-1, final_, layout_.norm, final_rstd_, d_final_norm, -1, "stream.gradient");
  for (int64_t index = sizes_.model.num_hidden_layers - 1; index >= 0; --index) {
    stream = BackwardLayer(index, stream);
  }
  BackwardEmbedding(stream);
  Issue(form);
}

}  // namespace traind::plan
