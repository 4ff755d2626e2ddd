// Operator programs: what one instruction does, as a list of operator calls on named slots.
//
// A program is plain data. The model executes it with engine/ops, the cost model adds up its calls, the
// memory table reads the slots' lifetimes off it, the verifier follows what each call reads and writes.
//
// Shapes: n = sequences·sequence_length tokens, h hidden_size, q = heads·head_size, k = kv_heads·head_size,
// i = intermediate_size, P max_position_embeddings, V vocab_size. All matrices are row-major; a weight has
// shape (output, input), or (input, output) where the call's dimensions say input_major.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/plan/schedule.h"
#include "engine/tensor/tensor.h"

namespace traind::plan {

enum class OpKind {
  kEmbedding,        // tokens (n) → rows of the weight (n·h)
  kPosition,         // adds row t of the weight (P·h) to row t of each sequence of x (n·h), in place
  kRmsNorm,          // x (n·h) → x·rstd·weight; with a residual, x is first replaced by the sum of both
  kLayerNorm,        // x (n·h) → (x − mean)·rstd·weight + bias; a residual as in kRmsNorm
  kLinear,           // x (n·in) → x·weightᵀ (n·out), plus the bias (out) where there is one
  kRope,             // in place on q and k in query_key_value (n·(q+2k)); rotates the halves of a head
  kAttention,        // query_key_value (n·(q+2k)) → causal softmax attention (n·q), kv heads shared
  kCachedAttention,  // the same for new positions, over the keys and values of all so far, which are kept
  kSwiglu,           // gate_up (n·2i), gate then up in a row → silu(gate)·up (n·i)
  kGelu,             // x (n·i) → x·Φ(x) (n·i), in its tanh form
  kCrossEntropy,  // logits (n·V), targets (n) → the sum of losses; as backward also their gradient, in place
  kFill,          // zeros
  kAdd,           // input + residual
  kSquareNorm,    // gradients → the sum of their squares
  kAdamw,         // weights, gradients, moments → updated weights and moments; kOutput: the weights in bf16
};
inline constexpr int kOpKinds = 15;
std::string_view OpKindName(OpKind kind);  // "rms_norm"

enum class Pass {
  kForward,
  kBackwardInput,   // the gradient of the input
  kBackwardWeight,  // the gradients of weight and bias
};
std::string_view PassName(Pass pass);

// What an operand is to its operator.
enum class Role {
  kInput,      // x, tokens, query_key_value, gate_up, logits; a norm's becomes the sum with its residual
  kResidual,   // the second addend of a norm's or kAdd's input; absent where a norm has none
  kWeight,     //
  kBias,       //
  kOutput,     //
  kStatistic,  // rstd of a norm (n), mean and rstd of kLayerNorm (n·2), log-sum-exp of attention (n·heads)
  kTarget,     // the token that is to be predicted (n)
  kTable,      // rotary cosines and sines
  kCache,      // keys and values (context·2k)
  kOutputGradient,  // read by the backward passes
  kInputGradient,   // a norm adds to it: its input is the residual stream
  kWeightGradient,  //
  kBiasGradient,    //
  kMoment1,         //
  kMoment2,         //
  kWorkspace,       //
};

enum class Access {
  kRead,
  kWrite,       // every byte, without reading it
  kUpdate,      // reads and writes in place
  kAccumulate,  // writes on the step's first micro-batch, adds on the others
  kScratch,     // undefined before and after
};

struct Operand {
  Role role = Role::kInput;
  Access access = Access::kRead;
  int32_t slot = -1;   // index in the memory table
  int64_t offset = 0;  // bytes from the slot's start
  int64_t bytes = 0;
};

// Sizes of a call; those that its operator does not have are 0.
struct OpDimensions {
  int64_t rows = 0;    // n, or the elements of a flat operator
  int64_t input = 0;   // width of a row of kInput
  int64_t output = 0;  // width of a row of kOutput
  int64_t sequences = 0;
  int64_t sequence_length = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  bool input_major = false;  // kLinear: how the weight lies

  bool operator==(const OpDimensions&) const = default;
};

struct OpCall {
  OpKind kind = OpKind::kLinear;
  Pass pass = Pass::kForward;
  DType type = DType::kFloat32;  // of activations, their gradients and the weights that are read
  int64_t layer = -1;            // -1 outside the layers
  bool decays = false;           // kAdamw: its range has weight decay
  bool last_row = false;         // kLinear: only the row of the last token is read
  OpDimensions dimensions;
  std::vector<Operand> operands;

  // The operand of that role, or nullptr.
  const Operand* Find(Role role) const {
    for (const Operand& operand : operands) {
      if (operand.role == role) return &operand;
    }
    return nullptr;
  }
};

struct Program {
  InstructionKind kind = InstructionKind::kForward;
  int64_t first_tick = 0;  // of call 0 on the table's time axis; a program has at least one tick
  std::vector<OpCall> calls;

  int64_t ticks() const { return calls.empty() ? 1 : static_cast<int64_t>(calls.size()); }
};

}  // namespace traind::plan
