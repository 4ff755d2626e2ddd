// What a worker process has resident besides its arena.
//
// Page tables are not resident memory of the process; at most 1/512 of it, they come out of the device's
// reserve.
#pragma once

#include <vector>

#include "engine/plan/memory.h"
#include "engine/plan/planner.h"

namespace traind::plan {

// A training worker's: context, its own heap, code generated for the table's matrix products, and mapped
// tokens.
std::vector<ClassBytes> TrainingProcess(const PlanRequest& request, const DeviceSpec& device,
                                        const MemoryTable& table);

// The same of a worker that evaluates or generates.
std::vector<ClassBytes> InferenceProcess(const DeviceSpec& device, const MemoryTable& table);

}  // namespace traind::plan
