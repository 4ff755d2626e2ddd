// From text to statements.
//
// A script is split at top-level ';' by the lexer and each statement is parsed by itself, so that an error in
// one hides none in another. Pure functions; no exceptions; stack use does not grow with the input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::grammar {

// One statement of a script. Offsets are bytes in the script; [begin, end) holds it without the ';' and outer
// blanks.
struct ParsedStatement {
  int64_t begin = 0;
  int64_t end = 0;
  SourcePosition position;             // of its first token
  std::optional<Statement> statement;  // absent if it has an error
  std::string kind;                   // "TRAIN", "CREATE MODEL", …: the statement's name in manual and HELP
  std::vector<Parameter> parameters;  // in order of appearance, a $name once
};

// What is still open at the end of an unfinished script, for a continuation prompt.
enum class OpenEnd { kNothing, kStatement, kString, kName, kComment, kParenthesis };

struct ParsedScript {
  std::vector<ParsedStatement> statements;
  std::vector<Status> errors;        // in order of position; each with position, expected list and hint
  OpenEnd open = OpenEnd::kNothing;  // kStatement: text after the last ';'
};

// Parses a whole script. `origin` is where `text` begins in a larger one (positions are reported in that
// one).
ParsedScript Parse(std::string_view text, SourcePosition origin = {0, 1, 1});

// Parses exactly one statement (an optional ';' may follow): the statement or its first error.
Result<ParsedStatement> ParseOne(std::string_view text, SourcePosition origin = {0, 1, 1});

// The canonical text of a statement, without ';': parse(print(s)) == s. Keywords in capitals, names quoted
// only where they must be, clauses in the manual's order.
std::string Print(const Statement& statement);
std::string Print(const Value& value);

// What may stand at the end of `text` (one unfinished statement): keywords in capitals and placeholders such
// as "a name", "a number", "a string".
std::vector<std::string> ExpectedAfter(std::string_view text);

// The name under which manual and HELP list this statement: "TRAIN", "CREATE MODEL", "SHOW JOBS", "PAUSE JOB"
// …
std::string_view KindOf(const Statement& statement);

// One row of the statement table (grammar/statements.def): kind, one-line synopsis, summary, worked example.
struct StatementInfo {
  std::string_view kind;
  std::string_view synopsis;
  std::string_view summary;
  std::string_view example;
};
const std::vector<StatementInfo>& AllStatements();

}  // namespace traind::grammar
