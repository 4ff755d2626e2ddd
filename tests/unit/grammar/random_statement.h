// Random statements for property tests: every field that the grammar can fill is filled at times.
#pragma once

#include <cstdint>
#include <random>

#include "grammar/ast.h"

namespace traind::grammar::testing {

using Random = std::mt19937_64;

// A statement that some text parses to.
Statement RandomStatement(Random& random);

}  // namespace traind::grammar::testing
