// The forward programs of the llama family, its loss and its optimizer.
#include "engine/plan/llama_program.h"

#include <algorithm>

#include "engine/plan/saturating.h"
#include "engine/tensor/workspace.h"

namespace traind::plan {

LlamaProgram::LlamaProgram(const LlamaSizes& sizes, TableBuilder* builder)
    : sizes_(sizes),
      builder_(builder),
      layout_(LayoutOf(sizes.model)),
      rows_(SaturatingMultiply(sizes.sequences, sizes.sequence_length)),
      hidden_(sizes.model.hidden_size),
      query_(sizes.model.num_attention_heads * sizes.model.head_size()),
      fused_(query_ + 2 * sizes.model.num_key_value_heads * sizes.model.head_size()),
      intermediate_(sizes.model.intermediate_size) {
  const int64_t parameter_bytes = SaturatingMultiply(layout_.total, 4);
  const int64_t token_bytes = SaturatingMultiply(rows_, 4);
  weights_ =
      builder_->AddSlot(std::string(kWeightsSlot), SlotClass::kWeights, parameter_bytes, Span::kAlways);
  tokens_ = builder_->AddSlot(std::string(kTokensSlot), SlotClass::kData, token_bytes, Span::kAlways);
  targets_ = builder_->AddSlot(std::string(kTargetsSlot), SlotClass::kData, token_bytes, Span::kAlways);
  rope_ = builder_->AddSlot(std::string(kRopeSlot), SlotClass::kTables,
                            Product({sizes.sequence_length, sizes.model.head_size(), 4}), Span::kAlways);
  const int64_t workspace_bytes =
      std::max({LinearWorkspaceBytes(sizes.threads), AttentionWorkspaceBytes(sizes.threads),
                SaturatingMultiply(rows_, CrossEntropyWorkspaceBytes(1))});
  workspace_ =
      builder_->AddSlot(std::string(kWorkspaceSlot), SlotClass::kWorkspace, workspace_bytes, Span::kAlways);
}

void LlamaProgram::AddTrainingState() {
  const int64_t bytes = SaturatingMultiply(layout_.total, 4);
  moment_1_ = builder_->AddSlot(std::string(kMoment1Slot), SlotClass::kMoments, bytes, Span::kAlways);
  moment_2_ = builder_->AddSlot(std::string(kMoment2Slot), SlotClass::kMoments, bytes, Span::kAlways);
  gradients_ =
      builder_->AddSlot(std::string(kGradientsSlot), SlotClass::kGradients, bytes, Span::kMicroBatch);
}

int32_t LlamaProgram::Rows(const std::string& name, int64_t width, SlotClass slot_class) {
  return builder_->AddSlot(prefix_ + name, slot_class, Product({rows_, width, 4}));
}

OpDimensions LlamaProgram::Dimensions(int64_t input, int64_t output) const {
  return {rows_,
          input,
          output,
          sizes_.sequences,
          sizes_.sequence_length,
          sizes_.model.num_attention_heads,
          sizes_.model.num_key_value_heads,
          sizes_.model.head_size()};
}

OpBuilder LlamaProgram::Op(OpKind kind, Pass pass, int64_t layer, int64_t input, int64_t output) const {
  return OpBuilder(*builder_, kind, pass, layer, Dimensions(input, output));
}

int64_t LlamaProgram::LayerOffset(int64_t layer, int64_t within) const {
  return SaturatingAdd(SaturatingAdd(layout_.layers, SaturatingMultiply(layer, layout_.layer_stride)),
                       within);
}

int32_t LlamaProgram::Embed(const std::string& name) {
  const int32_t output = Rows(name, hidden_);
  builder_->Add(Op(OpKind::kEmbedding, Pass::kForward, -1, sizes_.model.vocab_size, hidden_)
                    .Read(Role::kInput, tokens_)
                    .Range(Role::kWeight, Access::kRead, weights_, layout_.embed_tokens,
                           SaturatingMultiply(sizes_.model.vocab_size, hidden_))
                    .Write(Role::kOutput, output)
                    .Take());
  return output;
}

void LlamaProgram::Norm(int64_t layer, int32_t residual, int32_t input, int64_t weight, int32_t output,
                        int32_t rstd) {
  OpBuilder op = Op(OpKind::kRmsNorm, Pass::kForward, layer, hidden_, hidden_);
  if (residual >= 0) {
    op.Update(Role::kInput, input).Read(Role::kResidual, residual);
  } else {
    op.Read(Role::kInput, input);
  }
  op.Range(Role::kWeight, Access::kRead, weights_, weight, hidden_);
  builder_->Add(op.Write(Role::kOutput, output).Write(Role::kStatistic, rstd).Take());
}

void LlamaProgram::Linear(int64_t layer, int32_t input, int64_t weight, int64_t inputs, int64_t outputs,
                          int32_t output) {
  builder_->Add(
      Op(OpKind::kLinear, Pass::kForward, layer, inputs, outputs)
          .Read(Role::kInput, input)
          .Range(Role::kWeight, Access::kRead, weights_, weight, SaturatingMultiply(inputs, outputs))
          .Write(Role::kOutput, output)
          .Scratch(workspace_)
          .Take());
}

// `input` is what the layer before added to its own `residual` stream, not yet summed; residual -1: nothing
// yet. Returns this layer's addition; its residual stream is layers_.back().middle.
int32_t LlamaProgram::ForwardLayer(const std::string& name, int64_t index, int32_t residual, int32_t input) {
  Layer layer{};
  layer.input = input;
  layer.input_norm = Rows(name + "input_norm", hidden_);
  layer.input_rstd = Rows(name + "input_norm.rstd", 1);
  Norm(index, residual, input, LayerOffset(index, layout_.input_layernorm), layer.input_norm,
       layer.input_rstd);
  layer.query_key_value = Rows(name + "query_key_value", fused_);
  Linear(index, layer.input_norm, LayerOffset(index, layout_.query_key_value), hidden_, fused_,
         layer.query_key_value);
  builder_->Add(Op(OpKind::kRope, Pass::kForward, index, fused_, fused_)
                    .Read(Role::kTable, rope_)
                    .Update(Role::kInput, layer.query_key_value)
                    .Take());
  layer.attention = Rows(name + "attention", query_);
  layer.log_sum_exp = Rows(name + "attention.log_sum_exp", sizes_.model.num_attention_heads);
  builder_->Add(Op(OpKind::kAttention, Pass::kForward, index, fused_, query_)
                    .Read(Role::kInput, layer.query_key_value)
                    .Write(Role::kOutput, layer.attention)
                    .Write(Role::kStatistic, layer.log_sum_exp)
                    .Scratch(workspace_)
                    .Take());
  layer.middle = Rows(name + "middle", hidden_);
  Linear(index, layer.attention, LayerOffset(index, layout_.o_proj), query_, hidden_, layer.middle);
  layer.middle_norm = Rows(name + "middle_norm", hidden_);
  layer.middle_rstd = Rows(name + "middle_norm.rstd", 1);
  Norm(index, input, layer.middle, LayerOffset(index, layout_.post_attention_layernorm), layer.middle_norm,
       layer.middle_rstd);
  layer.gate_up = Rows(name + "gate_up", 2 * intermediate_);
  Linear(index, layer.middle_norm, LayerOffset(index, layout_.gate_up), hidden_, 2 * intermediate_,
         layer.gate_up);
  layer.activated = Rows(name + "activated", intermediate_);
  builder_->Add(Op(OpKind::kSwiglu, Pass::kForward, index, 2 * intermediate_, intermediate_)
                    .Read(Role::kInput, layer.gate_up)
                    .Write(Role::kOutput, layer.activated)
                    .Take());
  const bool last = index + 1 == sizes_.model.num_hidden_layers;
  const int32_t output = Rows(last ? "final" : "layers." + std::to_string(index + 1) + ".input", hidden_);
  Linear(index, layer.activated, LayerOffset(index, layout_.down_proj), intermediate_, hidden_, output);
  layers_.push_back(layer);
  return output;
}

// Up to the final norm.
int32_t LlamaProgram::ForwardBody(const std::string& prefix) {
  prefix_ = prefix;
  layers_.clear();
  int32_t input = Embed("layers.0.input");
  int32_t residual = -1;
  for (int64_t index = 0; index < sizes_.model.num_hidden_layers; ++index) {
    input = ForwardLayer("layers." + std::to_string(index) + ".", index, residual, input);
    residual = layers_.back().middle;
  }
  final_ = input;
  final_norm_ = Rows("final_norm", hidden_);
  final_rstd_ = Rows("final_norm.rstd", 1);
  Norm(-1, residual, final_, layout_.norm, final_norm_, final_rstd_);
  return final_norm_;
}

void LlamaProgram::Forward(const std::string& prefix) {
  const int32_t normed = ForwardBody(prefix);
  logits_ = Rows("logits", sizes_.model.vocab_size, SlotClass::kLogits);
  Linear(-1, normed, layout_.lm_head, hidden_, sizes_.model.vocab_size, logits_);
}

void LlamaProgram::Predict(const std::string& prefix) {
  const int32_t normed = ForwardBody(prefix);
  logits_ = builder_->AddSlot(std::string(kNextLogitsSlot), SlotClass::kLogits,
                              SaturatingMultiply(sizes_.model.vocab_size, 4), Span::kAlways);
  OpDimensions one = Dimensions(hidden_, sizes_.model.vocab_size);
  one.rows = 1;
  builder_->Add(OpBuilder(*builder_, OpKind::kLinear, Pass::kForward, -1, one)
                    .Read(Role::kInput, normed)
                    .Range(Role::kWeight, Access::kRead, weights_, layout_.lm_head,
                           SaturatingMultiply(sizes_.model.vocab_size, hidden_))
                    .Write(Role::kOutput, logits_)
                    .Scratch(workspace_)
                    .LastRow()
                    .Take());
}

void LlamaProgram::Loss() {
  builder_->Add(Op(OpKind::kCrossEntropy, Pass::kBackwardInput, -1, sizes_.model.vocab_size, 1)
                    .Update(Role::kInput, logits_)
                    .Read(Role::kTarget, targets_)
                    .Scratch(workspace_)
                    .Take());
}

void LlamaProgram::LossOnly() {
  builder_->Add(Op(OpKind::kCrossEntropy, Pass::kForward, -1, sizes_.model.vocab_size, 1)
                    .Read(Role::kInput, logits_)
                    .Read(Role::kTarget, targets_)
                    .Scratch(workspace_)
                    .Take());
}

void LlamaProgram::SquareNorm() {
  OpDimensions flat;
  flat.rows = layout_.total;
  builder_->Add(OpBuilder(*builder_, OpKind::kSquareNorm, Pass::kForward, -1, flat)
                    .Read(Role::kInput, gradients_)
                    .Take());
}

// One call for each run of neighbouring parameters that decay alike.
void LlamaProgram::Optimize(const std::vector<Parameter>& parameters) {
  for (size_t begin = 0; begin < parameters.size();) {
    size_t end = begin;
    int64_t elements = 0;
    while (end < parameters.size() && parameters[end].decays == parameters[begin].decays) {
      elements += parameters[end++].elements;
    }
    OpDimensions flat;
    flat.rows = elements;
    const int64_t offset = parameters[begin].offset;
    builder_->Add(OpBuilder(*builder_, OpKind::kAdamw, Pass::kForward, parameters[begin].layer, flat)
                      .Range(Role::kWeightGradient, Access::kRead, gradients_, offset, elements)
                      .Range(Role::kWeight, Access::kUpdate, weights_, offset, elements)
                      .Range(Role::kMoment1, Access::kUpdate, moment_1_, offset, elements)
                      .Range(Role::kMoment2, Access::kUpdate, moment_2_, offset, elements)
                      .Decays(parameters[begin].decays)
                      .Take());
    begin = end;
  }
}

}  // namespace traind::plan
