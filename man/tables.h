// The program's tables as mdoc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace traind::manual {

// The table that a page's line `@name` stands for; nothing if there is none.
std::optional<std::string> TableOf(std::string_view name);

}  // namespace traind::manual
