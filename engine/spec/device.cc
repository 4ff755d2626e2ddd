// DeviceSpec as JSON.
#include "engine/spec/device.h"

namespace traind {

Json DeviceToJson(const DeviceSpec& device) {
  return {{"uuid", device.uuid},
          {"node", device.node},
          {"index", device.index},
          {"type", device.type},
          {"kind", device.kind},
          {"name", device.name},
          {"threads", device.threads},
          {"instruction_set", device.instruction_set},
          {"memory_bytes", device.memory_bytes},
          {"free_bytes", device.free_bytes},
          {"context_bytes", device.context_bytes},
          {"matmul_flops_per_second", device.matmul_flops_per_second},
          {"bf16_flops_per_second", device.bf16_flops_per_second},
          {"memory_bytes_per_second", device.memory_bytes_per_second},
          {"libraries", device.libraries},
          {"price_per_hour", device.price_per_hour}};
}

Result<DeviceSpec> DeviceFromJson(const Json& object) {
  DeviceSpec device;
  TRAIND_ASSIGN(device.uuid, GetString(object, "uuid"));
  TRAIND_ASSIGN(device.node, GetString(object, "node"));
  TRAIND_ASSIGN(device.index, GetInt(object, "index"));
  TRAIND_ASSIGN(device.type, GetString(object, "type"));
  TRAIND_ASSIGN(device.kind, GetString(object, "kind"));
  TRAIND_ASSIGN(device.name, GetString(object, "name"));
  TRAIND_ASSIGN(device.threads, GetInt(object, "threads"));
  TRAIND_ASSIGN(device.instruction_set, GetString(object, "instruction_set"));
  TRAIND_ASSIGN(device.memory_bytes, GetInt(object, "memory_bytes"));
  TRAIND_ASSIGN(device.free_bytes, GetInt(object, "free_bytes"));
  TRAIND_ASSIGN(device.context_bytes, GetInt(object, "context_bytes"));
  TRAIND_ASSIGN(device.matmul_flops_per_second, GetDouble(object, "matmul_flops_per_second"));
  TRAIND_ASSIGN(device.bf16_flops_per_second, GetDouble(object, "bf16_flops_per_second"));
  TRAIND_ASSIGN(device.memory_bytes_per_second, GetDouble(object, "memory_bytes_per_second"));
  TRAIND_ASSIGN(device.libraries, GetString(object, "libraries"));
  TRAIND_ASSIGN(device.price_per_hour, GetDouble(object, "price_per_hour"));
  return device;
}

}  // namespace traind
