// Where a daemon is reached, and where its program lies.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind::capi {

struct Address {
  enum class Mode { kUnix, kEmbed } mode = Mode::kUnix;
  std::string path;         // of the socket, or of the state directory; absolute
  bool is_default = false;  // the user's own daemon, which may be started
};

// "", "unix:PATH" or "embed:DIR"; relative paths mean `directory`. INVALID_OPTION names the forms,
// DAEMON_UNREACHABLE a socket path that is too long.
Result<Address> ParseAddress(std::string_view text, std::string_view directory);

// $XDG_STATE_HOME/traind, else ~/.local/state/traind. STATE_UNUSABLE if there is no home.
Result<std::string> DefaultStateDirectory();

// The traind program: `configured` if it is not empty, else $TRAIND_BIN (the program or its directory), else
// beside this library or in ../bin from there, else beside the executable, else in PATH. DAEMON_UNREACHABLE
// lists where it was looked for.
Result<std::string> FindDaemonProgram(std::string_view configured);

}  // namespace traind::capi
