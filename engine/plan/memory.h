// The memory table: the operator program of each instruction and every byte it needs, by name.
//
// One table, two readers: the worker allocates its arena once and the model finds its slots by name; planning
// reads the same table without allocating. A slot's lifetime is from the first to the last operator that
// touches it, on a time axis made of the step's programs in order (forward, loss, backward, norm, optimize,
// validate, snapshot; each operator is a tick). What lives across micro-batches or steps has its whole span.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/parameters.h"
#include "engine/plan/program.h"
#include "engine/plan/schedule.h"
#include "engine/plan/strategy.h"
#include "engine/spec/model.h"
#include "engine/spec/training.h"
#include "engine/tensor/tensor.h"

namespace traind::plan {

enum class SlotClass {
  kWeights,
  kGradients,
  kMaster,  // weights in fp32, where those that are computed with are bf16
  kMoments,
  kActivations,
  kLogits,
  kWorkspace,
  kTables,
  kData,         // tokens and targets of a micro-batch
  kCache,        // keys and values of a text that is generated
  kHostStaging,  // a checkpoint on its way to the disk
};
inline constexpr int kSlotClasses = 11;
std::string_view SlotClassName(SlotClass slot_class);  // "host staging"

struct Slot {
  std::string name;  // "layers.3.attention.output"
  SlotClass slot_class = SlotClass::kActivations;
  DType type = DType::kFloat32;
  int64_t bytes = 0;
  int64_t first_tick = 0;
  int64_t last_tick = 0;  // included
  int64_t offset = 0;     // bytes from the arena's start
};

// Slots that others look up by name.
inline constexpr std::string_view kWeightsSlot = "weights";  // fp32: what is updated, saved and loaded
// bf16, what is computed with; absent in fp32, where kWeightsSlot is.
inline constexpr std::string_view kRoundedWeightsSlot = "weights.bf16";
inline constexpr std::string_view kGradientsSlot = "gradients";
inline constexpr std::string_view kMoment1Slot = "moment_1";
inline constexpr std::string_view kMoment2Slot = "moment_2";
inline constexpr std::string_view kTokensSlot = "batch.tokens";    // int32, sequences·sequence_length
inline constexpr std::string_view kTargetsSlot = "batch.targets";  // int32, the same shape
inline constexpr std::string_view kRopeSlot = "rope";              // RopeTable of engine/ops
inline constexpr std::string_view kWorkspaceSlot = "workspace";
inline constexpr std::string_view kNextLogitsSlot = "predict.logits";  // of the next token, vocab_size
inline constexpr std::string_view kStagingSlot = "checkpoint.staging";

inline constexpr std::string_view kSnapshotSlot = "checkpoint.snapshot";  // weights and moments, if planned

// A checkpoint passes through a buffer of this size, which lies where activations were.
inline constexpr int64_t kStagingBytes = int64_t{4} << 20;

struct MemoryTable {
  ModelSpec model;
  int64_t sequences = 0;  // per micro-batch
  int64_t sequence_length = 0;
  int64_t micro_batches = 1;
  int64_t threads = 1;
  int64_t context = 0;  // positions that the cache holds; 0 without one
  std::vector<Parameter> parameters;
  int64_t parameter_elements = 0;
  std::vector<Slot> slots;
  std::vector<Program> programs;  // in the order of the axis
  int64_t ticks = 0;
  int64_t arena_bytes = 0;
  int64_t live_bytes = 0;  // at the peak
  int64_t peak_tick = 0;

  // What the arena has beyond what is live at the peak.
  int64_t fragmentation_bytes() const { return arena_bytes - live_bytes; }
  const Slot* FindSlot(std::string_view name) const;
  const Program* FindProgram(InstructionKind kind) const;
};

struct TableOptions {
  int64_t threads = 1;  // compute threads of the device: some workspace is per thread
  bool validates = false;
  BackwardForm backward = BackwardForm::kJoint;
  bool reuse = true;  // false: every slot has its own address, for tests
};

// More layers than this are not tabulated, larger heads not computed: INVALID_OPTION.
inline constexpr int64_t kMaxTableLayers = 4096;
inline constexpr int64_t kMaxHeadSize = 256;

// The table of one training step on one device. The specs must be validated. Sizes that overflow are
// kTooLarge; arena_bytes is then kTooLarge too and the table cannot be used.
Result<MemoryTable> BuildTrainingTable(const ModelSpec& model, const TrainingSpec& training,
                                       const Strategy& strategy, const TableOptions& options);

// The table of a worker that only evaluates (`validate`): weights, and the activations of `sequences`
// sequences at a time.
Result<MemoryTable> BuildInferenceTable(const ModelSpec& model, int64_t sequences, int64_t sequence_length,
                                        const TableOptions& options);

// The table of a worker that generates (`predict`): weights, the keys and values of `context` positions, and
// the activations of the tokens of one call, at most kPredictTokens.
inline constexpr int64_t kPredictTokens = 128;
Result<MemoryTable> BuildGenerationTable(const ModelSpec& model, int64_t context,
                                         const TableOptions& options);

// Bytes by class that are live at the peak, in the order of SlotClass, without classes that have none; with
// alignment, and fragmentation as its own row, they add up to arena_bytes.
struct ClassTotal {
  std::string name;
  int64_t bytes = 0;
};
std::vector<ClassTotal> PeakByClass(const MemoryTable& table);

// The most that is live at once during each program, in the order of table.programs.
std::vector<int64_t> LiveByProgram(const MemoryTable& table);

}  // namespace traind::plan
