// The CPU as a device: OpenMP threads, an arena of huge pages, and the widest instruction set it has.
#pragma once

#include <memory>
#include <optional>

#include "engine/device/device.h"

namespace traind {

struct CpuOptions {
  int threads = 0;                                // 0: as many as this process may use (AllowedThreads)
  std::optional<InstructionSet> instruction_set;  // default: UsableInstructionSet()
};

// Fixes the number of OpenMP threads for the calling thread. INVALID_OPTION if the instruction set is beyond
// the processor or threads is negative or beyond 1024.
Result<std::unique_ptr<Device>> OpenCpuDevice(const CpuOptions& options = {});

// The widest set this processor and its system support.
InstructionSet WidestInstructionSet();

// Whether the processor multiplies bf16 natively (AVX-512 BF16) and kernels of `set` may use it.
bool HasNativeBf16(InstructionSet set);

// WidestInstructionSet(), lowered by TRAIND_INSTRUCTION_SET if that is set.
// INVALID_OPTION if the variable names no set, or one that the processor lacks.
Result<InstructionSet> UsableInstructionSet();

}  // namespace traind
