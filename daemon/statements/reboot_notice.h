// What a user is told once: that nobody starts his daemon again after a reboot.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/base/io.h"

namespace traind::daemon {

// A file of the state directory that `traind --install` leaves there, and `--uninstall` takes away.
inline constexpr std::string_view kInstalledMark = "installed";

// The notice for a submitted job, once per state directory; nothing if something starts the daemon after a
// reboot: `traind --install`, or a service manager that has started this one. Any thread.
std::optional<std::string> TakeRebootNotice(Io& io, const std::string& state_directory);

}  // namespace traind::daemon
