// Hardware of statements: ON against the inventory.
#include "daemon/bind/hardware.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/bind/live.h"
#include "daemon/bind/values.h"

namespace traind::daemon {
namespace {

std::string NamesOf(const std::vector<DeviceSpec>& devices) {
  std::string names;
  for (const DeviceSpec& device : devices) {
    names += fmt::format("{}{}:{}", names.empty() ? "" : ", ", device.node, device.index);
  }
  return names;
}

Json Wanted(const std::vector<DeviceSpec>& devices) {
  Json list = Json::array();
  for (const DeviceSpec& device : devices) list.push_back(Json::array({device.node, device.index}));
  return list;
}

// A plan is made for the device as it is when our own jobs have ended: admission looks at what is free then.
Result<std::vector<DeviceSpec>> DevicesWithoutOurJobs(const Context& context) {
  TRAIND_ASSIGN(const std::vector<LiveDevice> live, LiveDevices(context));
  std::vector<DeviceSpec> devices;
  for (const LiveDevice& each : live) {
    DeviceSpec device = each.device;
    device.free_bytes = std::clamp(device.free_bytes + each.reserved_bytes, device.free_bytes,
                                   std::max(device.free_bytes, device.memory_bytes));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

Result<BoundHardware> BindHardware(const std::optional<grammar::HardwareClause>& clause,
                                   const Context& context) {
  TRAIND_ASSIGN(std::vector<DeviceSpec> all, DevicesWithoutOurJobs(context));
  BoundHardware hardware;
  if (!clause || clause->all_gpus) {
    hardware.devices = std::move(all);
    if (clause) hardware.wanted = Wanted(hardware.devices);
    return hardware;
  }
  for (const grammar::DeviceRef& ref : clause->devices) {
    TRAIND_ASSIGN(const int64_t index, BindInteger(ref.index, "a device's number", 0, INT32_MAX));
    const auto same = [&](const DeviceSpec& device) {
      return device.node == ref.node.text && device.index == index;
    };
    if (std::ranges::any_of(hardware.devices, same)) {
      return Status(ErrorCode::DUPLICATE_OPTION, fmt::format("{}:{} is named twice", ref.node.text, index))
          .At(ref.position);
    }
    const auto found = std::ranges::find_if(all, same);
    if (found == all.end()) {
      return Status(ErrorCode::NO_SUCH_DEVICE, fmt::format("there is no device {}:{}", ref.node.text, index),
                    fmt::format("there is {}; SHOW GPUS lists them",
                                all.empty() ? std::string("none") : NamesOf(all)))
          .At(ref.position);
    }
    hardware.devices.push_back(*found);
  }
  hardware.wanted = Wanted(hardware.devices);
  return hardware;
}

}  // namespace traind::daemon
