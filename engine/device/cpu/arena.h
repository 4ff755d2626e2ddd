// An arena of huge pages on the CPU.
#pragma once

#include <memory>

#include "engine/device/device.h"

namespace traind {

// As Device::AllocateArena says; pages are touched by `threads` threads, so that they lie near those.
Result<std::unique_ptr<Arena>> AllocateHugeArena(int64_t bytes, int threads);

}  // namespace traind
