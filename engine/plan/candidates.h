// Candidates: the strategies worth comparing on one device, each with what it needs and how long it takes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/memory.h"
#include "engine/plan/planner.h"

namespace traind::plan {

// A device keeps this much of its free memory: 64 MiB and 1/64 of what is installed, for the system and for
// what other processes take while the run goes on.
int64_t ReserveBytes(const DeviceSpec& device);
// What a worker may take.
int64_t UsableBytes(const DeviceSpec& device);

// Sets arena_bytes, memory and predicted_peak_bytes; `process` is what is resident besides the arena.
void AddMemory(const MemoryTable& table, std::vector<ClassBytes> process, Plan* plan);

// A strategy on a device. The plan's memory, times and disk are set; its steps, run time and cost are left
// open.
struct Candidate {
  Plan plan;
  double nominal_seconds = 0;  // of a step on a nominal device of this instruction set and number of threads
};

// INVALID_OPTION if the model is more than a table holds. predicted_peak_bytes is kTooLarge if sizes
// overflow.
Result<Candidate> CandidateOf(const PlanRequest& request, const DeviceSpec& device, const Strategy& strategy);

// The micro-batches that divide a step's sequences, each with every recompute, those that need least memory
// first: as long as their tokens are at most kMaxMicroBatchTokens, beyond which a larger one gains nothing;
// always at least {1}.
inline constexpr int64_t kMaxMicroBatchTokens = 32768;
std::vector<Strategy> Strategies(const TrainingSpec& training);

// The arena of a training worker, without building the table of a deep model: from some depth on each layer
// adds the same to what is live in each program. So it also holds for more layers than a table has.
int64_t ArenaBytes(const ModelSpec& model, const TrainingSpec& training, const Strategy& strategy,
                   const TableOptions& options);

}  // namespace traind::plan
