// Named fault points: places where tests make the process die or an operation fail.
//
// TRAIND_FAULT="name[:n][=kill|error|stop]" in the environment arms one: at its n-th pass (default 1) the
// process kills itself with SIGKILL, the call returns an error, or the process stops itself (SIGSTOP).
// Unarmed, a point costs one load and a branch. fault.def lists them all, so that a test can hit every one.
// Every process that inherits the variable counts its own passes; with TRAIND_FAULT_ONCE=PATH only the first
// that creates PATH fires, so that the next attempt of a job is spared.
#pragma once

#include <span>
#include <string_view>

#include "engine/base/status.h"

namespace traind {

enum class FaultPoint {
#define F(name, text) name,
#include "engine/base/fault.def"
#undef F
};

struct FaultInfo {
  FaultPoint point;
  std::string_view name;
  std::string_view text;
};

std::span<const FaultInfo> AllFaultPoints();

// Passes the point: OK, an IO error if it is armed for `error`, or no return.
Status PassFaultPoint(FaultPoint point);

// Arms a point in this process as the environment would; empty text disarms. Not while other threads pass
// points. INVALID_OPTION for an unknown name, pass or action.
Status ArmFaultPoint(std::string_view text);

}  // namespace traind
