// Pieces of SQL inside statements: collected as tokens, handed to SQLite as text.
#pragma once

#include "engine/base/status.h"
#include "grammar/ast.h"
#include "grammar/lexer.h"

namespace traind::grammar {

// Reads the tokens of a piece of SQL up to, and without, its end. Which token ends it, the keyword before it
// (`lead`) says: ASSERT's ends at a ',' outside parentheses, WHERE's and ORDER BY's at the next clause of
// SHOW, that of SELECT and WITH, which begins with the keyword itself, and every other at the statement's
// end. An empty piece has an empty text.
//
// NESTING_TOO_DEEP beyond kMaxExpressionDepth parentheses, SYNTAX if they do not match, and the lexer's
// errors.
Status ReadSql(Lexer* lexer, const Token& lead, Sql* piece);

}  // namespace traind::grammar
