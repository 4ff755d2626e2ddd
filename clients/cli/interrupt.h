// Signals, and what they mean to a running statement.
//
// SIGINT, SIGTERM and SIGHUP interrupt the statement (not its job); a second one leaves at once.
// Process-wide.
#pragma once

#include "capi/traind.h"

namespace traind::cli {

// Installs the handlers; SIGPIPE is ignored from now on. Before, signals end the program as usual.
void CatchSignals();

// The connection whose statement a signal interrupts; NULL for none.
void SetInterruptible(traind_conn* conn);

// The signal that has come since the last Forget, 0 for none.
int SignalSeen();
void ForgetSignal();

// SIGTERM and SIGHUP end the shell, also an interactive one.
bool MustLeave();

}  // namespace traind::cli
