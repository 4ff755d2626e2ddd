// The inventory as the last probe found it, kept so that a start need not probe again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/spec/device.h"

namespace traind::daemon {

// Replaces the kept devices. `fingerprint` says what they depend on (CPU model, boot, libraries).
Status SaveDevices(Transaction& transaction, const std::vector<DeviceSpec>& devices,
                   const std::string& fingerprint, double now);

// The kept devices if they were probed under the same fingerprint, else nullopt.
Result<std::optional<std::vector<DeviceSpec>>> LoadDevices(Connection& connection,
                                                           const std::string& fingerprint);

}  // namespace traind::daemon
