// What the grammar would have taken, for errors and completion.
#pragma once

#include <string>
#include <vector>

#include "engine/base/status.h"
#include "grammar/builder.h"
#include "grammar/lalr.h"
#include "grammar/token.h"

namespace traind::grammar {

// Every kind of token that can come next, as people read it: keywords by the alphabet, then placeholders,
// then punctuation. A keyword that could only stand as a name, and a clause that has been given already, are
// left out.
std::vector<std::string> ExpectedNext(const Lalr& parser, const Builder& build);

// SYNTAX at a token that is not accepted, with the expected list and the best hint there is.
Status SyntaxError(const Lalr& parser, const Builder& build, const Token& token);

}  // namespace traind::grammar
