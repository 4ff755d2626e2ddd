// libtraind(3)'s reference: traind.h's sections, prototypes and comments as mdoc.
#pragma once

#include <string>
#include <string_view>

namespace traind::manual {

// The functions of `header` (traind.h's text), a subsection for each of its sections; the comment before a
// function, or behind it on its line, is its description.
std::string FunctionsOf(std::string_view header);

}  // namespace traind::manual
