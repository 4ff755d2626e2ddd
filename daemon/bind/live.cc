// What the views show of the moment: devices with what our jobs hold of them, and the session's settings.
#include "daemon/bind/live.h"

#include <map>
#include <string>

#include "daemon/bind/option_table.h"
#include "daemon/catalog/row.h"
#include "daemon/jobs/jobs.h"

namespace traind::daemon {
namespace {

// Predicted peaks of the jobs that run, by device: an open attempt's devices are "local:0, …".
Result<std::map<std::string, int64_t>> ReservedBytes(Connection& connection) {
  TRAIND_ASSIGN(const auto rows,
                connection.Query("SELECT a.devices, j.predicted_peak_bytes FROM main._attempts a "
                                 "JOIN main._jobs j ON j.id = a.job_id WHERE a.ended_at IS NULL"));
  std::map<std::string, int64_t> reserved;
  for (const auto& cells : rows) {
    RowReader row(cells);
    const std::string devices = row.Text();
    reserved[devices] += row.Int();
  }
  return reserved;
}

}  // namespace

Result<std::vector<LiveDevice>> LiveDevices(const Context& context) {
  TRAIND_ASSIGN(const auto reserved, ReservedBytes(context.reader));
  std::vector<LiveDevice> live;
  if (!context.daemon.devices) return live;
  for (DeviceSpec& device : context.daemon.devices()) {
    LiveDevice one;
    const auto found = reserved.find(device.node + ":" + std::to_string(device.index));
    if (found != reserved.end()) one.reserved_bytes = found->second;
    one.busy = context.daemon.device_busy ? context.daemon.device_busy(device.node, device.index) : false;
    one.device = std::move(device);
    live.push_back(std::move(one));
  }
  return live;
}

std::vector<LiveSetting> LiveSettings(const SessionState& session) {
  std::vector<LiveSetting> settings;
  for (const OptionInfo& info : AllSettings()) {
    const auto set = session.settings.find(std::string(info.name));
    const bool is_set = set != session.settings.end();
    settings.push_back({std::string(info.name), is_set ? set->second : std::string(info.default_text),
                        is_set ? "session" : "default"});
  }
  return settings;
}

}  // namespace traind::daemon
