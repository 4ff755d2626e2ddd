// What a daemon does to its own process before it does anything else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind::daemon {

// Private files (umask 077), no SIGPIPE, "/" as the working directory, standard descriptors open, every other
// inherited descriptor but `keep` closed, as many descriptors as the system allows.
void SetUpProcess(std::optional<int> keep);

// Tells the service manager, if there is one ($NOTIFY_SOCKET): "READY=1", "STOPPING=1", "WATCHDOG=1".
void NotifyServiceManager(std::string_view state);

// How often the service manager wants to hear "WATCHDOG=1", in milliseconds; 0: never.
int64_t WatchdogIntervalMs();

}  // namespace traind::daemon
