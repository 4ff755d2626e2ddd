// The operator programs of decoder-only transformers: norm, attention, norm, feed-forward per layer, on
// packed sequences; what sets the families apart is the model's ArchitectureTraits.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/memory.h"
#include "engine/plan/table_builder.h"

namespace traind::plan {

// Sizes that all programs of a table share.
struct DecoderSizes {
  ModelSpec model;
  int64_t sequences = 0;
  int64_t sequence_length = 0;
  int64_t threads = 1;
  Recompute recompute = Recompute::kNone;  // of Backward
  bool trains = false;
  DType type = DType::kFloat32;  // of activations and of the weights that are read
  int64_t context = 0;           // positions whose keys and values are kept for Predict
};

// Adds the slots and calls of a model to a builder, program by program.
class DecoderProgram {
 public:
  DecoderProgram(const DecoderSizes& sizes, TableBuilder* builder);

  // Slots that training adds to those of inference: gradients and moments.
  void AddTrainingState();

  // From tokens to logits. Slot names begin with `prefix`; what it leaves is kept for Loss and Backward, if
  // called.
  void Forward(const std::string& prefix);
  // The same for the next positions of one sequence whose keys and values are kept, and only the logits of
  // one row, the next token's.
  void Predict(const std::string& prefix);
  void Loss();                       // of the last Forward; leaves the gradient of the logits
  void LossOnly();                   // of the last Forward; leaves nothing
  void Backward(BackwardForm form);  // of the last Forward; begins its own programs
  void SquareNorm();
  void Optimize(const std::vector<Parameter>& parameters);

 private:
  struct Layer {
    int32_t input, input_norm, input_statistic;
    int32_t query_key_value, attention, log_sum_exp;
    int32_t middle, middle_norm, middle_statistic;
    int32_t widened, activated;
  };

  int32_t Rows(const std::string& name, int64_t width, SlotClass slot_class = SlotClass::kActivations);
  int32_t Statistics(const std::string& name, int64_t width);  // always fp32
  OpDimensions Dimensions(int64_t input, int64_t output) const;
  OpBuilder Op(OpKind kind, Pass pass, int64_t layer, int64_t input, int64_t output) const;
  // One of the layers' linears, whose weights lie as the family has them.
  OpBuilder LayerLinear(Pass pass, int64_t layer, int64_t inputs, int64_t outputs) const;
  // A pair of a layer in the flat order.
  Affine OfLayer(int64_t layer, const Affine& within) const;
  void Emit(OpCall call) { calls_.push_back(std::move(call)); }
  // Puts what was emitted into the program begun last.
  void Flush();

  int32_t Embed(const std::string& name);
  void Norm(int64_t layer, int32_t residual, int32_t input, const Affine& affine, int32_t output,
            int32_t statistic);
  void Linear(int64_t layer, int32_t input, const Affine& affine, int64_t inputs, int64_t outputs,
              int32_t output);
  void InputNorm(const std::string& name, int64_t index, int32_t residual, Layer* layer);
  void QueryKeyValue(const std::string& name, int64_t index, Layer* layer);
  void Attend(const std::string& name, int64_t index, Layer* layer);
  void AttendCached(int64_t index, const Layer& layer);
  void AttentionOutput(const std::string& name, int64_t index, Layer* layer);
  void MiddleNorm(const std::string& name, int64_t index, int32_t residual, Layer* layer);
  void Widen(const std::string& name, int64_t index, Layer* layer);
  void Activate(const std::string& name, int64_t index, Layer* layer);
  int32_t Narrow(int64_t index, const Layer& layer);
  int32_t ForwardLayer(int64_t index, int32_t residual, int32_t input);
  int32_t ForwardBody(const std::string& prefix);

  // The backward pass collects its calls, so that they can be issued jointly or split by pass.
  void BackwardLinear(OpBuilder weight_pass, OpBuilder input_pass, int32_t input, const Affine& affine,
                      int64_t inputs, int64_t outputs, int32_t output_gradient, int32_t input_gradient);
  void BackwardLayerLinear(int64_t layer, int32_t input, const Affine& affine, int64_t inputs,
                           int64_t outputs, int32_t output_gradient, int32_t input_gradient);
  int32_t BackwardNorm(int64_t layer, int32_t input, const Affine& affine, int32_t statistic,
                       int32_t output_gradient, int32_t stream, const std::string& name);
  // What the layer's forward pass did not leave, into slots of the layer's own.
  void RecomputeLayer(const std::string& name, int64_t index, Layer* layer);
  int32_t BackwardAttention(const std::string& name, int64_t index, const Layer& layer, int32_t stream);
  int32_t BackwardLayer(int64_t index, int32_t stream);
  void BackwardEmbedding(int32_t stream);
  void Issue(BackwardForm form);

  const DecoderSizes sizes_;
  const ArchitectureTraits traits_;
  TableBuilder* const builder_;
  const ModelLayout layout_;
  const int64_t rows_;     // n
  const int64_t hidden_;   // h
  const int64_t query_;    // q
  const int64_t fused_;    // q + 2k
  const int64_t widened_;  // what the activation takes: 2i, or i
  const int64_t intermediate_;
  const int64_t statistics_;  // of a norm, per row
  const OpKind norm_;
  const OpKind activation_;

  // What is computed with, and what is updated: the same in fp32.
  int32_t weights_, master_;
  int32_t tokens_, targets_, rope_ = -1, workspace_;
  int32_t gradients_ = -1, moment_1_ = -1, moment_2_ = -1;
  std::vector<Layer> layers_;
  int32_t final_ = -1, final_norm_ = -1, final_statistic_ = -1, logits_ = -1;
  std::string prefix_;
  bool caching_ = false;
  BackwardForm form_ = BackwardForm::kJoint;
  std::vector<OpCall> calls_;
};

}  // namespace traind::plan
