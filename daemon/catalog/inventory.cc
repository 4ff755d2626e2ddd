// The inventory as the last probe found it, kept so that a start need not probe again.
#include "daemon/catalog/inventory.h"

#include "engine/base/json.h"

namespace traind::daemon {

Status SaveDevices(Transaction& transaction, const std::vector<DeviceSpec>& devices,
                   const std::string& fingerprint, double now) {
  TRAIND_TRY(transaction.Run("DELETE FROM _devices"));
  for (const DeviceSpec& device : devices) {
    TRAIND_TRY(transaction.Run(
        "INSERT INTO _devices(node, idx, fingerprint, spec, probed_at) VALUES (?1,?2,?3,?4,?5)",
        {device.node, device.index, fingerprint, DumpJson(DeviceToJson(device)), now}));
  }
  return {};
}

Result<std::optional<std::vector<DeviceSpec>>> LoadDevices(Connection& connection,
                                                           const std::string& fingerprint) {
  TRAIND_ASSIGN(const auto rows,
                connection.Query("SELECT spec FROM main._devices WHERE fingerprint = ?1 ORDER BY node, idx",
                                 {fingerprint}));
  if (rows.empty()) return std::optional<std::vector<DeviceSpec>>();
  std::vector<DeviceSpec> devices;
  for (const auto& row : rows) {
    const auto* text = std::get_if<std::string>(&row.front());
    TRAIND_ASSIGN(const Json spec, ParseJson(text ? *text : ""));
    TRAIND_ASSIGN(DeviceSpec device, DeviceFromJson(spec));
    devices.push_back(std::move(device));
  }
  return std::optional(std::move(devices));
}

}  // namespace traind::daemon
