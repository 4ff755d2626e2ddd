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

// One statement of a script. [begin, end) are bytes of the text given to Parse, without the ';' and outer
// blanks and comments; `position` counts from the origin.
struct ParsedStatement {
  int64_t begin = 0;
  int64_t end = 0;
  SourcePosition position;             // of its first token
  std::optional<Statement> statement;  // absent if it has an error
  std::string kind;  // "TRAIN", "CREATE MODEL", …: its name in manual and HELP; empty if it has an error
  std::vector<Parameter> parameters;  // in order of appearance, a $name once
};

// What is still open at the end of an unfinished script, for a continuation prompt.
enum class OpenEnd { kNothing, kStatement, kString, kName, kComment, kParenthesis };

struct ParsedScript {
  std::vector<ParsedStatement> statements;
  std::vector<Status> errors;        // in order of position; each with position, expected list and hint
  OpenEnd open = OpenEnd::kNothing;  // kStatement: text after the last ';'
};

// Parses a whole script, in time linear in its length. `origin` is where `text` begins in a larger one
// (positions are reported in that one). At most kMaxScriptErrors errors are reported, one a statement.
// Nothing is read behind a byte that is not UTF-8, or a NUL.
ParsedScript Parse(std::string_view text, SourcePosition origin = {0, 1, 1});

// Parses exactly one statement (an optional ';' may follow): the statement or its first error.
Result<ParsedStatement> ParseOne(std::string_view text, SourcePosition origin = {0, 1, 1});

// The canonical text of a statement, without ';': parse(print(s)) == s. Keywords in capitals, names quoted
// only where they must be, clauses in the manual's order.
std::string Print(const Statement& statement);
std::string Print(const Value& value);

// Where in the script the byte of `piece.sql` at `sql_offset` stands (SQLite's error offsets are such).
SourcePosition PositionIn(const Sql& piece, int64_t sql_offset);

// What may stand at the end of `text`, whose last statement is unfinished: keywords in capitals, then
// placeholders such as "a name", "a number", "a string", then punctuation; ";" if the statement could end
// here. Nothing inside an unfinished string or behind an error.
std::vector<std::string> ExpectedAfter(std::string_view text);

// The name under which manual and HELP list this statement: "TRAIN", "CREATE MODEL", "SHOW JOBS", "PAUSE JOB"
// …
std::string_view KindOf(const Statement& statement);

// One row of the statement table (grammar/statements.def), from which HELP and trainql(7) are made.
struct StatementInfo {
  std::string_view kind;
  std::string_view synopsis;  // one or more lines; [ ] optional, | or, … repeated
  std::string_view summary;   // one line
  std::string_view text;      // paragraphs, an empty line between two
  std::string_view example;   // one or more statements that parse
};
const std::vector<StatementInfo>& AllStatements();

}  // namespace traind::grammar
