// Device: where an arena lies and operators run. The CPU is one (cpu/cpu_device.h).
//
// A device is owned by one worker and used by one thread; operators spread over its compute threads inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind {

enum class DeviceKind { kCpu };

// The code paths that kernels are built for, least first. Above kGeneric they need an x86-64 processor of
// level v3 (AVX2, FMA) or v4 (AVX-512 F, BW, CD, DQ, VL).
enum class InstructionSet { kGeneric, kAvx2, kAvx512 };

std::string_view InstructionSetName(InstructionSet set);  // generic | avx2 | avx512

// What the device is and can do; fixed while it is open.
struct Capability {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;  // the product's, for people
  int threads = 1;   // compute threads
  InstructionSet instruction_set = InstructionSet::kGeneric;
  bool native_bf16 = false;  // products of bf16 are computed by instructions of their own, faster than fp32
  int64_t memory_bytes = 0;  // installed, or what the control group allows
};

// One block of memory, allocated once; its pages are present from the start.
class Arena {
 public:
  virtual ~Arena() = default;
  virtual std::byte* data() = 0;      // aligned to kArenaGranularity
  virtual int64_t bytes() const = 0;  // a multiple of kArenaGranularity
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const Capability& capability() const = 0;

  // At least `bytes`, rounded up to kArenaGranularity, zeroed and resident. OUT_OF_MEMORY, with both figures,
  // if more is asked than is free. The arena may outlive the device.
  virtual Result<std::unique_ptr<Arena>> AllocateArena(int64_t bytes) = 0;
};

}  // namespace traind
