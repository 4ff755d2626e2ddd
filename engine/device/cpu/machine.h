// What the machine, this process' affinity and its control groups say about processors and memory.
#pragma once

#include <cstdint>
#include <string>

namespace traind {

class Machine {
 public:
  // Reads /proc, /sys and /etc below `root`; empty for the machine itself.
  explicit Machine(std::string root = {}) : root_(std::move(root)) {}

  // Processors in this process' affinity mask.
  static int AffinityProcessors();

  // Processors this process may use at once: its affinity mask, and the CPU quota of its control group and of
  // those above it, rounded up. At least 1.
  int AllowedThreads() const;

  // The processor's product name, or the architecture's if the system does not say.
  std::string CpuModelName() const;

  // Installed memory, or the least limit of the control groups if that is smaller.
  int64_t InstalledMemoryBytes() const;

  // What may still be used: MemAvailable, or what the tightest control group leaves if that is smaller. File
  // pages that the kernel can drop count as free.
  int64_t FreeMemoryBytes() const;

  // Resident memory of this process: now, and the most it ever was.
  int64_t ResidentBytes() const;
  int64_t PeakResidentBytes() const;

  // Stays the same over restarts of the machine; empty if it has none.
  std::string MachineId() const;

 private:
  std::string root_;
};

}  // namespace traind
