// The prompt.
#pragma once

#include "clients/cli/session.h"

namespace traind::cli {

// Reads and runs statements from the terminal until Ctrl-D, .quit or a signal; the exit code. `reopen` makes
// a new connection when the daemon was lost.
int RunPrompt(Session& session, int (*reopen)(Session&));

}  // namespace traind::cli
