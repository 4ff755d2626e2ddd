// Writing mdoc: text that roff takes as it is meant.
#pragma once

#include <string>
#include <string_view>

namespace traind::manual {

// `text` as running prose: backslashes kept, a line never a request, … and × and the like as roff spells
// them.
std::string Prose(std::string_view text);

// Paragraphs, an empty line between two, as .Pp between them.
std::string Paragraphs(std::string_view text);

// One argument of a macro line: quoted, so that no word of it is taken for a macro.
std::string Argument(std::string_view text);

// A display of text as it stands, indented.
std::string Display(std::string_view text);

}  // namespace traind::manual
