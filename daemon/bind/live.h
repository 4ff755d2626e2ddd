// What the views show of the moment: devices with what our jobs hold of them, and the session's settings.
#pragma once

#include <vector>

#include "daemon/catalog/catalog.h"
#include "daemon/statement.h"
#include "engine/base/status.h"

namespace traind::daemon {

Result<std::vector<LiveDevice>> LiveDevices(const Context& context);
std::vector<LiveSetting> LiveSettings(const SessionState& session);

}  // namespace traind::daemon
