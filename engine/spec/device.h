// DeviceSpec: one row of the inventory, as plans see it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {

struct DeviceSpec {
  std::string uuid;  // stable: for the CPU made from the machine id
  std::string node = "local";
  int64_t index = 0;            // ON GPU node:index
  std::string type;             // "cpu" here; a GPU's product name later
  std::string kind = "cpu";     // cpu | cuda
  std::string name;             // the CPU's model name, for people
  int64_t threads = 1;          // compute threads the worker uses
  std::string instruction_set;  // the kernels it runs: avx512 | avx2 | generic
  int64_t memory_bytes = 0;     // installed, or the cgroup's limit
  int64_t free_bytes = 0;       // free now, as the system says
  int64_t context_bytes =
      0;  // a worker's resident memory before it has allocated its arena; measured by --probe
  double matmul_flops_per_second = 0;  // attainable fp32, measured by --probe
  double bf16_flops_per_second = 0;    // the same in bf16, 0 where it is not native: fp32 is faster then
  double memory_bytes_per_second = 0;  // attainable, measured by --probe
  std::string libraries;               // versions that bits depend on: "oneDNN 2.6.3, OpenMP 4.5"
  double price_per_hour = 0;

  bool operator==(const DeviceSpec&) const = default;
};

Json DeviceToJson(const DeviceSpec& device);
Result<DeviceSpec> DeviceFromJson(const Json& object);

}  // namespace traind
