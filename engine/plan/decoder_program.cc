// The forward programs of a decoder, its loss and its optimizer.
#include "engine/plan/decoder_program.h"

#include <algorithm>

#include "engine/plan/saturating.h"
#include "engine/tensor/workspace.h"

namespace traind::plan {

DecoderProgram::DecoderProgram(const DecoderSizes& sizes, TableBuilder* builder)
    : sizes_(sizes),
      traits_(sizes.model.traits()),
      builder_(builder),
      layout_(LayoutOf(sizes.model)),
      rows_(SaturatingMultiply(sizes.sequences, sizes.sequence_length)),
      hidden_(sizes.model.hidden_size),
      query_(sizes.model.num_attention_heads * sizes.model.head_size()),
      fused_(query_ + 2 * sizes.model.num_key_value_heads * sizes.model.head_size()),
      widened_(sizes.model.intermediate_size * (traits_.gelu ? 1 : 2)),
      intermediate_(sizes.model.intermediate_size),
      statistics_(traits_.layer_norm ? 2 : 1),
      norm_(traits_.layer_norm ? OpKind::kLayerNorm : OpKind::kRmsNorm),
      activation_(traits_.gelu ? OpKind::kGelu : OpKind::kSwiglu) {
  const int64_t parameter_bytes = SaturatingMultiply(layout_.total, 4);
  const int64_t token_bytes = SaturatingMultiply(rows_, 4);
  const bool rounds = sizes.type == DType::kBFloat16;
  master_ = builder_->AddSlot(std::string(kWeightsSlot), rounds ? SlotClass::kMaster : SlotClass::kWeights,
                              parameter_bytes, Span::kAlways);
  weights_ = rounds ? builder_->AddSlot(std::string(kRoundedWeightsSlot), SlotClass::kWeights,
                                        SaturatingMultiply(layout_.total, DTypeBytes(sizes.type)),
                                        Span::kAlways, sizes.type)
                    : master_;
  tokens_ = builder_->AddSlot(std::string(kTokensSlot), SlotClass::kData, token_bytes, Span::kAlways);
  targets_ = builder_->AddSlot(std::string(kTargetsSlot), SlotClass::kData, token_bytes, Span::kAlways);
  if (!traits_.learned_positions) {
    rope_ = builder_->AddSlot(
        std::string(kRopeSlot), SlotClass::kTables,
        Product({std::max(sizes.sequence_length, sizes.context), sizes.model.head_size(), 4}), Span::kAlways);
  }
  const int64_t workspace_bytes =
      std::max({LinearWorkspaceBytes(sizes.threads),
                sizes.trains ? AttentionBackwardWorkspaceBytes(sizes.threads, sizes.sequence_length,
                                                               sizes.model.head_size())
                             : AttentionWorkspaceBytes(sizes.threads),
                SaturatingMultiply(rows_, CrossEntropyWorkspaceBytes(1))});
  workspace_ =
      builder_->AddSlot(std::string(kWorkspaceSlot), SlotClass::kWorkspace, workspace_bytes, Span::kAlways);
}

void DecoderProgram::AddTrainingState() {
  const int64_t bytes = SaturatingMultiply(layout_.total, 4);
  moment_1_ = builder_->AddSlot(std::string(kMoment1Slot), SlotClass::kMoments, bytes, Span::kAlways);
  moment_2_ = builder_->AddSlot(std::string(kMoment2Slot), SlotClass::kMoments, bytes, Span::kAlways);
  gradients_ =
      builder_->AddSlot(std::string(kGradientsSlot), SlotClass::kGradients, bytes, Span::kMicroBatch);
}

int32_t DecoderProgram::Rows(const std::string& name, int64_t width, SlotClass slot_class) {
  return builder_->AddSlot(prefix_ + name, slot_class, Product({rows_, width, DTypeBytes(sizes_.type)}),
                           Span::kTouched, sizes_.type);
}

int32_t DecoderProgram::Statistics(const std::string& name, int64_t width) {
  return builder_->AddSlot(prefix_ + name, SlotClass::kActivations, Product({rows_, width, 4}));
}

OpDimensions DecoderProgram::Dimensions(int64_t input, int64_t output) const {
  return {.rows = rows_,
          .input = input,
          .output = output,
          .sequences = sizes_.sequences,
          .sequence_length = sizes_.sequence_length,
          .heads = sizes_.model.num_attention_heads,
          .kv_heads = sizes_.model.num_key_value_heads,
          .head_size = sizes_.model.head_size()};
}

OpBuilder DecoderProgram::Op(OpKind kind, Pass pass, int64_t layer, int64_t input, int64_t output) const {
  return OpBuilder(*builder_, kind, pass, layer, Dimensions(input, output), sizes_.type);
}

OpBuilder DecoderProgram::LayerLinear(Pass pass, int64_t layer, int64_t inputs, int64_t outputs) const {
  OpDimensions dimensions = Dimensions(inputs, outputs);
  dimensions.input_major = traits_.input_major;
  return OpBuilder(*builder_, OpKind::kLinear, pass, layer, dimensions, sizes_.type);
}

Affine DecoderProgram::OfLayer(int64_t layer, const Affine& within) const {
  const int64_t begin = SaturatingAdd(layout_.layers, SaturatingMultiply(layer, layout_.layer_stride));
  Affine affine;
  affine.weight = SaturatingAdd(begin, within.weight);
  if (within.bias >= 0) affine.bias = SaturatingAdd(begin, within.bias);
  return affine;
}

void DecoderProgram::Flush() {
  for (OpCall& call : calls_) builder_->Add(std::move(call));
  calls_.clear();
}

int32_t DecoderProgram::Embed(const std::string& name) {
  const int32_t output = Rows(name, hidden_);
  Emit(Op(OpKind::kEmbedding, Pass::kForward, -1, sizes_.model.vocab_size, hidden_)
           .Read(Role::kInput, tokens_)
           .Range(Role::kWeight, Access::kRead, weights_, layout_.token_table,
                  SaturatingMultiply(sizes_.model.vocab_size, hidden_))
           .Write(Role::kOutput, output)
           .Take());
  if (traits_.learned_positions) {
    const int64_t positions = sizes_.model.max_position_embeddings;
    Emit(Op(OpKind::kPosition, Pass::kForward, -1, positions, hidden_)
             .Update(Role::kInput, output)
             .Range(Role::kWeight, Access::kRead, weights_, layout_.position_table,
                    SaturatingMultiply(positions, hidden_))
             .Take());
  }
  return output;
}

void DecoderProgram::Norm(int64_t layer, int32_t residual, int32_t input, const Affine& affine,
                          int32_t output, int32_t statistic) {
  OpBuilder op = Op(norm_, Pass::kForward, layer, hidden_, hidden_);
  if (residual >= 0) {
    op.Update(Role::kInput, input).Read(Role::kResidual, residual);
  } else {
    op.Read(Role::kInput, input);
  }
  op.Range(Role::kWeight, Access::kRead, weights_, affine.weight, hidden_)
      .Range(Role::kBias, Access::kRead, weights_, affine.bias, hidden_);
  Emit(op.Write(Role::kOutput, output).Write(Role::kStatistic, statistic).Take());
}

void DecoderProgram::Linear(int64_t layer, int32_t input, const Affine& affine, int64_t inputs,
                            int64_t outputs, int32_t output) {
  Emit(LayerLinear(Pass::kForward, layer, inputs, outputs)
           .Read(Role::kInput, input)
           .Range(Role::kWeight, Access::kRead, weights_, affine.weight, SaturatingMultiply(inputs, outputs))
           .Range(Role::kBias, Access::kRead, weights_, affine.bias, outputs)
           .Write(Role::kOutput, output)
           .Scratch(workspace_)
           .Take());
}

void DecoderProgram::InputNorm(const std::string& name, int64_t index, int32_t residual, Layer* layer) {
  layer->input_norm = Rows(name + "input_norm", hidden_);
  layer->input_statistic = Statistics(name + "input_norm.statistic", statistics_);
  Norm(index, residual, layer->input, OfLayer(index, layout_.input_norm), layer->input_norm,
       layer->input_statistic);
}

void DecoderProgram::QueryKeyValue(const std::string& name, int64_t index, Layer* layer) {
  layer->query_key_value = Rows(name + "query_key_value", fused_);
  Linear(index, layer->input_norm, OfLayer(index, layout_.query_key_value), hidden_, fused_,
         layer->query_key_value);
  if (rope_ < 0) return;
  Emit(Op(OpKind::kRope, Pass::kForward, index, fused_, fused_)
           .Read(Role::kTable, rope_)
           .Update(Role::kInput, layer->query_key_value)
           .Take());
}

void DecoderProgram::Attend(const std::string& name, int64_t index, Layer* layer) {
  layer->attention = Rows(name + "attention", query_);
  if (caching_) return AttendCached(index, *layer);
  layer->log_sum_exp = Statistics(name + "attention.log_sum_exp", sizes_.model.num_attention_heads);
  Emit(Op(OpKind::kAttention, Pass::kForward, index, fused_, query_)
           .Read(Role::kInput, layer->query_key_value)
           .Write(Role::kOutput, layer->attention)
           .Write(Role::kStatistic, layer->log_sum_exp)
           .Scratch(workspace_)
           .Take());
}

// The keys and values of all positions so far lie in a slot of the layer's own.
void DecoderProgram::AttendCached(int64_t index, const Layer& layer) {
  OpDimensions dimensions = Dimensions(fused_, query_);
  dimensions.sequence_length = sizes_.context;
  const int32_t cache = builder_->AddSlot("cache.layers." + std::to_string(index), SlotClass::kCache,
                                          Product({sizes_.context, fused_ - query_, 4}), Span::kAlways);
  Emit(OpBuilder(*builder_, OpKind::kCachedAttention, Pass::kForward, index, dimensions)
           .Read(Role::kInput, layer.query_key_value)
           .Update(Role::kCache, cache)
           .Write(Role::kOutput, layer.attention)
           .Take());
}

void DecoderProgram::AttentionOutput(const std::string& name, int64_t index, Layer* layer) {
  layer->middle = Rows(name + "middle", hidden_);
  Linear(index, layer->attention, OfLayer(index, layout_.attention_output), query_, hidden_, layer->middle);
}

void DecoderProgram::MiddleNorm(const std::string& name, int64_t index, int32_t residual, Layer* layer) {
  layer->middle_norm = Rows(name + "middle_norm", hidden_);
  layer->middle_statistic = Statistics(name + "middle_norm.statistic", statistics_);
  Norm(index, residual, layer->middle, OfLayer(index, layout_.middle_norm), layer->middle_norm,
       layer->middle_statistic);
}

void DecoderProgram::Widen(const std::string& name, int64_t index, Layer* layer) {
  layer->widened = Rows(name + "widened", widened_);
  Linear(index, layer->middle_norm, OfLayer(index, layout_.widening), hidden_, widened_, layer->widened);
}

void DecoderProgram::Activate(const std::string& name, int64_t index, Layer* layer) {
  layer->activated = Rows(name + "activated", intermediate_);
  Emit(Op(activation_, Pass::kForward, index, widened_, intermediate_)
           .Read(Role::kInput, layer->widened)
           .Write(Role::kOutput, layer->activated)
           .Take());
}

// The layer's addition to the stream, which is where the next layer's input is made.
int32_t DecoderProgram::Narrow(int64_t index, const Layer& layer) {
  const bool last = index + 1 == sizes_.model.num_hidden_layers;
  const int32_t output = Rows(last ? "final" : "layers." + std::to_string(index + 1) + ".input", hidden_);
  Linear(index, layer.activated, OfLayer(index, layout_.narrowing), intermediate_, hidden_, output);
  return output;
}

// `input` is what the layer before added to its own `residual` stream, not yet summed; residual -1: nothing
// yet. Returns this layer's addition; its residual stream is layers_.back().middle.
int32_t DecoderProgram::ForwardLayer(int64_t index, int32_t residual, int32_t input) {
  const std::string name = "layers." + std::to_string(index) + ".";
  Layer layer{};
  layer.input = input;
  InputNorm(name, index, residual, &layer);
  QueryKeyValue(name, index, &layer);
  Attend(name, index, &layer);
  AttentionOutput(name, index, &layer);
  MiddleNorm(name, index, input, &layer);
  Widen(name, index, &layer);
  Activate(name, index, &layer);
  layers_.push_back(layer);
  return Narrow(index, layer);
}

// Up to the final norm.
int32_t DecoderProgram::ForwardBody(const std::string& prefix) {
  prefix_ = prefix;
  layers_.clear();
  int32_t input = Embed("layers.0.input");
  int32_t residual = -1;
  for (int64_t index = 0; index < sizes_.model.num_hidden_layers; ++index) {
    input = ForwardLayer(index, residual, input);
    residual = layers_.back().middle;
  }
  final_ = input;
  final_norm_ = Rows("final_norm", hidden_);
  final_statistic_ = Statistics("final_norm.statistic", statistics_);
  Norm(-1, residual, final_, layout_.final_norm, final_norm_, final_statistic_);
  return final_norm_;
}

void DecoderProgram::Forward(const std::string& prefix) {
  const int32_t normed = ForwardBody(prefix);
  logits_ = Rows("logits", sizes_.model.vocab_size, SlotClass::kLogits);
  Emit(Op(OpKind::kLinear, Pass::kForward, -1, hidden_, sizes_.model.vocab_size)
           .Read(Role::kInput, normed)
           .Range(Role::kWeight, Access::kRead, weights_, layout_.head,
                  SaturatingMultiply(sizes_.model.vocab_size, hidden_))
           .Write(Role::kOutput, logits_)
           .Scratch(workspace_)
           .Take());
  Flush();
}

void DecoderProgram::Predict(const std::string& prefix) {
  caching_ = true;
  const int32_t normed = ForwardBody(prefix);
  caching_ = false;
  logits_ = builder_->AddSlot(std::string(kNextLogitsSlot), SlotClass::kLogits,
                              SaturatingMultiply(sizes_.model.vocab_size, 4), Span::kAlways);
  OpDimensions one = Dimensions(hidden_, sizes_.model.vocab_size);
  one.rows = 1;
  Emit(OpBuilder(*builder_, OpKind::kLinear, Pass::kForward, -1, one)
           .Read(Role::kInput, normed)
           .Range(Role::kWeight, Access::kRead, weights_, layout_.head,
                  SaturatingMultiply(sizes_.model.vocab_size, hidden_))
           .Write(Role::kOutput, logits_)
           .Scratch(workspace_)
           .LastRow()
           .Take());
  Flush();
}

void DecoderProgram::Loss() {
  builder_->Add(Op(OpKind::kCrossEntropy, Pass::kBackwardInput, -1, sizes_.model.vocab_size, 1)
                    .Update(Role::kInput, logits_)
                    .Read(Role::kTarget, targets_)
                    .Scratch(workspace_)
                    .Take());
}

void DecoderProgram::LossOnly() {
  builder_->Add(Op(OpKind::kCrossEntropy, Pass::kForward, -1, sizes_.model.vocab_size, 1)
                    .Read(Role::kInput, logits_)
                    .Read(Role::kTarget, targets_)
                    .Scratch(workspace_)
                    .Take());
}

void DecoderProgram::SquareNorm() {
  OpDimensions flat;
  flat.rows = layout_.total;
  builder_->Add(OpBuilder(*builder_, OpKind::kSquareNorm, Pass::kForward, -1, flat)
                    .Read(Role::kInput, gradients_)
                    .Take());
}

// One call for each run of neighbouring parameters that decay alike.
void DecoderProgram::Optimize(const std::vector<Parameter>& parameters) {
  for (size_t begin = 0; begin < parameters.size();) {
    size_t end = begin;
    int64_t elements = 0;
    while (end < parameters.size() && parameters[end].decays == parameters[begin].decays) {
      elements += parameters[end++].elements;
    }
    OpDimensions flat;
    flat.rows = elements;
    const int64_t offset = parameters[begin].offset;
    OpBuilder update(*builder_, OpKind::kAdamw, Pass::kForward, parameters[begin].layer, flat);
    update.Range(Role::kWeightGradient, Access::kRead, gradients_, offset, elements)
        .Range(Role::kWeight, Access::kUpdate, master_, offset, elements)
        .Range(Role::kMoment1, Access::kUpdate, moment_1_, offset, elements)
        .Range(Role::kMoment2, Access::kUpdate, moment_2_, offset, elements);
    if (weights_ != master_) update.Range(Role::kOutput, Access::kWrite, weights_, offset, elements);
    builder_->Add(update.Decays(parameters[begin].decays).Take());
    begin = end;
  }
}

}  // namespace traind::plan
