// What must hold for every text that is given to the parser.
#pragma once

#include <string_view>

namespace traind::fuzzing {

// Parses `text` and aborts, saying why on stderr, unless: every error is of class SYNTAX and stands inside
// the text, its line and column agreeing with its offset; every statement's slice of the text parses to the
// same statement alone; and parse(print(s)) == s.
void CheckStatements(std::string_view text);

}  // namespace traind::fuzzing
