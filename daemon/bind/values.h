// Values of statements as numbers, durations and texts, with errors that point at them.
//
// Handlers see statements without parameters (bind/parameters.h), so a value here is a string, quantity or
// word. A string that reads as a quantity is taken where one is wanted: that is how values come from --param.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/quantity.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

// A number as the lexer would have read it: a whole one is integral.
Quantity NumberQuantity(double value);

// "the string 'x'", "4GiB (bytes)": for messages.
std::string DescribeValue(const grammar::Value& value);

// The quantity of a dimension. `what` begins the message ("FOR … STEPS"). WRONG_UNIT for another dimension,
// INVALID_OPTION for what is no quantity; at the value's position.
Result<Quantity> BindQuantity(const grammar::Value& value, Dimension dimension, std::string_view what);
// A whole number in [low, high]: INVALID_OPTION otherwise.
Result<int64_t> BindInteger(const grammar::Value& value, std::string_view what, int64_t low, int64_t high);
// A duration above 0.
Result<double> BindSeconds(const grammar::Value& value, std::string_view what);
// A string or bare word.
Result<std::string> BindText(const grammar::Value& value, std::string_view what);

}  // namespace traind::daemon
