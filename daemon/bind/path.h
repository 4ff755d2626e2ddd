// Paths in statements: relative ones mean the client's working directory.
#pragma once

#include <string>

#include "daemon/statement.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

// The path made absolute and normalised. INVALID_OPTION if it is empty, holds a NUL or is longer than
// kMaxPathBytes.
Result<std::string> PathOf(const std::string& text, const Context& context);

// The same of a statement's value, with errors that point at it.
Result<std::string> BindPath(const grammar::Value& value, std::string_view what, const Context& context);

}  // namespace traind::daemon
