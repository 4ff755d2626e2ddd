// Which instruction set the kernels use: what the processor has, lowered by TRAIND_INSTRUCTION_SET.
#include <cstdlib>
#include <string>

#include "engine/device/cpu/cpu_device.h"

namespace traind {

std::string_view InstructionSetName(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512:
      return "avx512";
    case InstructionSet::kAvx2:
      return "avx2";
    case InstructionSet::kGeneric:
      break;
  }
  return "generic";
}

InstructionSet WidestInstructionSet() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool level3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool level4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (level3 && level4) return InstructionSet::kAvx512;
  if (level3) return InstructionSet::kAvx2;
#endif
  return InstructionSet::kGeneric;
}

bool HasNativeBf16(InstructionSet set) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return set >= InstructionSet::kAvx512 && __builtin_cpu_supports("avx512bf16");
#else
  (void)set;
  return false;
#endif
}

Result<InstructionSet> UsableInstructionSet() {
  const InstructionSet widest = WidestInstructionSet();
  const char* wanted = std::getenv("TRAIND_INSTRUCTION_SET");
  if (wanted == nullptr || *wanted == '\0') return widest;
  for (InstructionSet set : {InstructionSet::kGeneric, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (InstructionSetName(set) != wanted) continue;
    if (set <= widest) return set;
    return Status(ErrorCode::INVALID_OPTION,
                  std::string("TRAIND_INSTRUCTION_SET is ") + wanted + ", but this processor supports only " +
                      std::string(InstructionSetName(widest)),
                  "Unset TRAIND_INSTRUCTION_SET, or give one that the processor has.");
  }
  return Status(ErrorCode::INVALID_OPTION,
                std::string("TRAIND_INSTRUCTION_SET is '") + wanted + "', no instruction set",
                "Give generic, avx2 or avx512, or unset it.");
}

}  // namespace traind
