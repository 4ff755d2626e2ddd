// What operators cost: FLOPs, bytes moved, and seconds by a roofline over a device's attainable rates.
#pragma once

#include <cstdint>

#include "engine/plan/memory.h"
#include "engine/plan/program.h"
#include "engine/spec/device.h"

namespace traind::plan {

struct OpCost {
  double flops = 0;
  double bytes = 0;  // read and written
  // A call's overhead + max(flops / attainable FLOP/s, bytes / attainable bytes/s), on one thread or on all
  // as engine/ops would.
  double seconds = 0;
};
OpCost CostOf(const OpCall& call, const DeviceSpec& device);

// All calls of a program; 0 if the table has none of that kind.
double InstructionSeconds(const MemoryTable& table, InstructionKind kind, const DeviceSpec& device);
double InstructionFlops(const MemoryTable& table, InstructionKind kind);

// One optimizer step: its micro-batches, norm and optimize.
double StepSeconds(const MemoryTable& table, const DeviceSpec& device);

// Bytes of a checkpoint on disk (weights and both moments in fp32, headers) and of a model version (weights).
int64_t CheckpointBytes(int64_t parameters);
int64_t VersionBytes(int64_t parameters);

// Writing and syncing a checkpoint.
double CheckpointSeconds(int64_t checkpoint_bytes);

// From the worker's start to its first step: process, arena, initial weights or a checkpoint.
double StartSeconds(int64_t arena_bytes, int64_t parameters);

}  // namespace traind::plan
