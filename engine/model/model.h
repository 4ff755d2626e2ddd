// Model: a transformer at work. It executes the operator programs of a memory table on one arena.
//
// The table says everything: which operators an instruction has, on which slots, at which addresses. The
// model adds nothing to it and allocates nothing while it runs, so what was planned is what runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/ops/adamw.h"
#include "engine/ops/context.h"
#include "engine/plan/memory.h"

namespace traind::model {

class LifetimeGuard;
struct Execution;

struct ModelOptions {
  // For tests: outside its lifetime each slot is filled with NaN and, under AddressSanitizer, poisoned.
  bool poison = false;
};

// Sums of losses since they were last taken, in nats.
struct LossSum {
  double sum = 0;
  int64_t tokens = 0;

  double mean() const { return tokens > 0 ? sum / static_cast<double>(tokens) : 0; }
};

// Owned by one worker, used by one thread; completed_operators() may be read from any.
class Model {
 public:
  // `arena` is aligned to kSlotAlignment and has at least table.arena_bytes; it and `context` are borrowed
  // and outlive the model. Weights and moments are as the arena has them (zeros when it is new).
  // Each matrix product of training is computed once, so that what its preparation allocates is not allocated
  // during a step. INTERNAL if the table does not fit arena or context.
  static Result<std::unique_ptr<Model>> Create(plan::MemoryTable table, std::span<std::byte> arena,
                                               ops::Context& context, const ModelOptions& options = {});
  ~Model();

  // Weights as Hugging Face initialises them: normal(0, initializer_range) for matrices and tables, divided
  // by sqrt(2·layers) where gpt2's end in the residual stream, ones for norms, zeros for biases; moments
  // zero. Each value depends only on the seed, its parameter's name and its place there.
  void Initialize(int64_t seed);

  const plan::MemoryTable& table() const { return table_; }

  // Flat, in the order of table().parameters. An inference table has only weights; the others are empty.
  // Weights are fp32: in bf16 training the master copy, from which what is computed with is made anew by the
  // first program after each call of weights().
  std::span<float> weights() {
    weights_shown_ = true;
    return Floats(plan::kWeightsSlot);
  }
  std::span<float> gradients() { return Floats(plan::kGradientsSlot); }  // complete from norm to optimize
  std::span<float> moment_1() { return Floats(plan::kMoment1Slot); }
  std::span<float> moment_2() { return Floats(plan::kMoment2Slot); }
  // The part of one parameter in one of these.
  std::span<float> Part(std::span<float> flat, const plan::Parameter& parameter) const;

  // Where the next micro-batch's tokens and targets are put, sequence by sequence.
  std::span<int32_t> tokens() { return Ints(plan::kTokensSlot); }
  std::span<int32_t> targets() { return Ints(plan::kTargetsSlot); }
  // Room for a copy of weights and moments; empty if the plan has none.
  std::span<std::byte> snapshot() { return Bytes(plan::kSnapshotSlot); }
  // A buffer for checkpoints, free between steps, until the next forward; empty in an inference table.
  std::span<std::byte> staging();

  // Executes forward, loss, backward, backward_input, backward_weight, norm or validate. The first
  // micro-batch of a step begins its gradients anew. Gradients are those of the mean loss over all tokens of
  // the step. TOKEN_OUT_OF_RANGE for tokens that are not in the vocabulary; INTERNAL for kinds the table has
  // no program of.
  Status Run(const plan::Instruction& instruction);

  // Executes `optimize` on all parameters; settings.weight_decay is left out where they do not decay.
  Status Optimize(const ops::AdamwSettings& settings);

  // Executes `validate` on the first `sequences` sequences of the micro-batch.
  Status Validate(int64_t sequences);

  // Executes `predict` on tokens that stand at the positions from `first_position` on, whose keys and values
  // are kept: those before must have been given before. At most table().sequence_length tokens, within
  // table().context positions. The logits of the token that follows; valid until the next call.
  Result<std::span<const float>> Predict(std::span<const int32_t> tokens, int64_t first_position);

  // What loss and validate added since the last call.
  LossSum TakeLoss();
  // The sum of the squares of all gradients, in double, once `norm` has run.
  double square_norm() const { return square_norm_; }

  // Operators completed since the model was made: how a supervisor sees that it moves.
  const std::atomic<int64_t>& completed_operators() const { return completed_operators_; }

 private:
  struct ActiveRows {
    int64_t sequences;
    int64_t sequence_length;
  };

  Model(plan::MemoryTable table, std::byte* arena, ops::Context& context);
  Status FillTables();
  Status PrepareProducts();
  std::span<std::byte> Bytes(std::string_view slot);
  std::span<float> Floats(std::string_view slot);
  std::span<int32_t> Ints(std::string_view slot);
  Status RunProgram(const plan::Instruction& instruction, ActiveRows rows, const ops::AdamwSettings* update);
  Status RoundWeights();
  static bool BeginsAnew(const plan::Instruction& instruction);
  void Account(const plan::Instruction& instruction, const Execution& run);

  const plan::MemoryTable table_;
  std::byte* const arena_;
  ops::Context& context_;
  std::unique_ptr<LifetimeGuard> guard_;  // null without poison
  bool weights_shown_ = true;             // others may have written them
  LossSum loss_;
  double square_norm_ = 0;
  int64_t first_position_ = 0;  // of the tokens that Predict was given
  std::atomic<int64_t> completed_operators_ = 0;
};

}  // namespace traind::model
