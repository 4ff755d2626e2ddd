// The release this daemon is.
#pragma once

#include <string_view>

namespace traind::daemon {

inline constexpr std::string_view kVersion = TRAIND_VERSION;

}  // namespace traind::daemon
