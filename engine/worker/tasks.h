// The tasks a worker can be given.
#pragma once

#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/worker/control.h"
#include "engine/worker/heartbeat.h"

namespace traind::worker {

// Carries out the task of the daemon's first message. Returns the message that ends it: "finished" or
// "result". An error is for the caller to send as "failed".
Result<Json> CarryOut(const Json& message, Control* control, Heartbeat* heartbeat);

}  // namespace traind::worker
