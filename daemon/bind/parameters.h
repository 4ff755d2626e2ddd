// Parameters of a statement, replaced by their values.
#pragma once

#include "daemon/statement.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

// The statement with every parameter outside SQL replaced: the value stands at the parameter's position, and
// its `parameter` says which it was. Where a quantity must stand, a string that reads as one becomes it, so
// that the result can be printed and parsed again. UNBOUND_PARAMETER for one without a value; INVALID_OPTION
// for null, and for a number as a name; NAME_TOO_LONG.
Result<grammar::Statement> ReplaceParameters(const grammar::Statement& statement, const Context& context);

// A bound null: the bare word null, which only SQL can take.
inline bool IsNull(const grammar::Value& value) {
  return value.kind == grammar::Value::Kind::kWord && value.text == "null";
}

// The value of one parameter: of this statement's own, else of the session (LET).
Result<grammar::Value> ValueOf(const grammar::Parameter& parameter, const Context& context);

}  // namespace traind::daemon
