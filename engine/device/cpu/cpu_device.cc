// The CPU device: its threads, their settings, and its arena.
#include "engine/device/cpu/cpu_device.h"

#include <omp.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <string>
#include <utility>

#include "engine/device/cpu/arena.h"
#include "engine/device/cpu/machine.h"

namespace traind {

namespace {

constexpr int kMaxThreads = 1024;

// Results that small are nothing in training, and dealing with them exactly costs a hundred cycles each.
void FlushDenormals() {
#if defined(__SSE__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(Capability capability) : capability_(std::move(capability)) {}

  const Capability& capability() const override { return capability_; }

  Result<std::unique_ptr<Arena>> AllocateArena(int64_t bytes) override {
    return AllocateHugeArena(bytes, capability_.threads);
  }

 private:
  Capability capability_;
};

// The pool is started here, so that its threads inherit the settings and no step waits for it.
void StartThreads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  FlushDenormals();
#pragma omp parallel num_threads(threads)
  FlushDenormals();
}

Result<InstructionSet> ChooseInstructionSet(const CpuOptions& options) {
  if (!options.instruction_set) return UsableInstructionSet();
  if (*options.instruction_set <= WidestInstructionSet()) return *options.instruction_set;
  return Status(
      ErrorCode::INVALID_OPTION,
      "this processor has no " + std::string(InstructionSetName(*options.instruction_set)) + " instructions");
}

}  // namespace

Result<std::unique_ptr<Device>> OpenCpuDevice(const CpuOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return Status(ErrorCode::INVALID_OPTION, std::to_string(options.threads) +
                                                 " threads are asked for; 0 to " +
                                                 std::to_string(kMaxThreads) + " are possible");
  }
  const Machine machine;
  Capability capability;
  TRAIND_ASSIGN(capability.instruction_set, ChooseInstructionSet(options));
  capability.native_bf16 = HasNativeBf16(capability.instruction_set);
  capability.name = machine.CpuModelName();
  capability.threads =
      options.threads > 0 ? options.threads : std::min(machine.AllowedThreads(), kMaxThreads);
  capability.memory_bytes = machine.InstalledMemoryBytes();
  StartThreads(capability.threads);
  return std::unique_ptr<Device>(new CpuDevice(std::move(capability)));
}

}  // namespace traind
