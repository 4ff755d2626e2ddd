// The system's reasons as Status: how every file operation reports its failure.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind {

// "cannot <operation> <path>: <reason>" with the code that io.h promises for this errno. `reading` tells
// whether a refusal of permission is about reading a file that a user named.
Status IoError(std::string_view operation, const std::string& path, int error_number, bool reading = false);

}  // namespace traind
