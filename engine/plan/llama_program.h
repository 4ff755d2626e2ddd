// The operator programs of the llama family: RoPE, RMSNorm, SwiGLU, grouped-query attention, packed
// sequences.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/memory.h"
#include "engine/plan/table_builder.h"

namespace traind::plan {

// Sizes that all programs of a table share.
struct LlamaSizes {
  ModelSpec model;
  int64_t sequences = 0;
  int64_t sequence_length = 0;
  int64_t threads = 1;
};

// Adds the slots and calls of a llama to a builder, program by program.
class LlamaProgram {
 public:
  LlamaProgram(const LlamaSizes& sizes, TableBuilder* builder);

  // Slots that training adds to those of inference: gradients and moments.
  void AddTrainingState();

  // From tokens to logits. Slot names begin with `prefix`; what it leaves is kept for Loss and Backward, if
  // called.
  void Forward(const std::string& prefix);
  // As Forward, but only the logits of one row, the next token's.
  void Predict(const std::string& prefix);
  void Loss();                       // of the last Forward; leaves the gradient of the logits
  void LossOnly();                   // of the last Forward; leaves nothing
  void Backward(BackwardForm form);  // of the last Forward; begins its own programs
  void SquareNorm();
  void Optimize(const std::vector<Parameter>& parameters);

 private:
  struct Layer {
    int32_t input, input_norm, input_rstd;
    int32_t query_key_value, attention, log_sum_exp;
    int32_t middle, middle_norm, middle_rstd;
    int32_t gate_up, activated;
  };

  int32_t Rows(const std::string& name, int64_t width, SlotClass slot_class = SlotClass::kActivations);
  OpDimensions Dimensions(int64_t input, int64_t output) const;
  OpBuilder Op(OpKind kind, Pass pass, int64_t layer, int64_t input, int64_t output) const;
  int64_t LayerOffset(int64_t layer, int64_t within) const;

  int32_t Embed(const std::string& prefix);
  void Norm(int64_t layer, int32_t residual, int32_t input, int64_t weight, int32_t output, int32_t rstd);
  void Linear(int64_t layer, int32_t input, int64_t weight, int64_t inputs, int64_t outputs, int32_t output);
  int32_t ForwardLayer(const std::string& prefix, int64_t index, int32_t residual, int32_t input);
  int32_t ForwardBody(const std::string& prefix);

  // The backward pass collects its calls, so that they can be issued jointly or split by pass.
  void BackwardLinear(int64_t layer, int32_t input, int64_t weight, int64_t inputs, int64_t outputs,
                      int32_t output_gradient, int32_t input_gradient);
  int32_t BackwardNorm(int64_t layer, int32_t input, int64_t weight, int32_t rstd, int32_t output_gradient,
                       int32_t stream, const std::string& name);
  int32_t BackwardLayer(int64_t index, int32_t stream);
  void BackwardEmbedding(int32_t stream);
  void Issue(BackwardForm form);

  const LlamaSizes sizes_;
  TableBuilder* const builder_;
  const LlamaLayout layout_;
  const int64_t rows_;    // n
  const int64_t hidden_;  // h
  const int64_t query_;   // q
  const int64_t fused_;   // q + 2k
  const int64_t intermediate_;

  int32_t tokens_, targets_, weights_, rope_, workspace_;
  int32_t gradients_ = -1, moment_1_ = -1, moment_2_ = -1;
  std::vector<Layer> layers_;
  int32_t final_ = -1, final_norm_ = -1, final_rstd_ = -1, logits_ = -1;
  std::string prefix_;
  BackwardForm form_ = BackwardForm::kJoint;
  std::vector<OpCall> calls_;
};

}  // namespace traind::plan
