// The probe: what this machine's CPU is and attains, measured.
#pragma once

#include "engine/base/status.h"
#include "engine/spec/device.h"

namespace traind::worker {

// The CPU as a row of the inventory: threads and memory that this process may use, the resident memory of a
// worker without its arena, and the attained rates of a large fp32 matrix product and of memory. Takes a few
// tenths of a second: a daemon's first statement may wait for it.
Result<DeviceSpec> ProbeCpu();

// Prints it as JSON on stdout, or the error on stderr; returns the exit code.
int PrintProbe();

}  // namespace traind::worker
