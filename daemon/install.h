// traind --install: so that jobs go on after a reboot, without anybody logging in.
#pragma once

#include "daemon/options.h"
#include "engine/base/status.h"

namespace traind::daemon {

// With a systemd user manager: a user service with lingering, started at once. Without one: an @reboot line
// in the user's crontab, and a daemon is not started. Says on standard output what was done, and leaves
// a mark in the state directory.
Status Install(const Options& options, const Environment& environment);
Status Uninstall(const Options& options, const Environment& environment);

}  // namespace traind::daemon
