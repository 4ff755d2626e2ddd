// The parser's invariants, checked on one text.
#include "tests/fuzz/check_statements.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/base/limits.h"
#include "grammar/parse.h"

namespace traind::fuzzing {
namespace {

using grammar::ParsedScript;
using grammar::ParsedStatement;
using grammar::ParseOne;
using grammar::Print;

[[noreturn]] void Fail(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "%.*s\n--- in ---\n%.*s\n---\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(text.size()), text.data());
  std::abort();
}

// The position of `offset`, counted anew.
SourcePosition PositionOf(std::string_view text, int64_t offset) {
  SourcePosition position{offset, 1, 1};
  const size_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (size_t i = mark; i < static_cast<size_t>(offset); ++i) {
    if (text[i] == '\n') {
      ++position.line;
      position.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++position.column;
    }
  }
  return position;
}

void CheckPosition(const SourcePosition& position, std::string_view text) {
  if (position.offset < 0 || position.offset > static_cast<int64_t>(text.size())) {
    Fail("a position outside the text", text);
  }
  if (position != PositionOf(text, position.offset))
    Fail("line and column do not agree with the offset", text);
}

void CheckStatement(const ParsedStatement& parsed, std::string_view text) {
  CheckPosition(parsed.position, text);
  if (parsed.begin != parsed.position.offset || parsed.begin > parsed.end ||
      parsed.end > static_cast<int64_t>(text.size())) {
    Fail("a statement's bytes are not in the text", text);
  }
  if (!parsed.statement) return;
  const auto begin = static_cast<size_t>(parsed.begin);
  const auto alone = ParseOne(text.substr(begin, static_cast<size_t>(parsed.end) - begin));
  if (!alone.ok()) Fail("a statement alone does not parse: " + alone.status().ToString(), text);
  if (*alone->statement != *parsed.statement) Fail("a statement alone is another", text);
  const std::string printed = Print(*parsed.statement);
  const auto again = ParseOne(printed);
  if (!again.ok()) Fail("does not parse: " + printed + "\n" + again.status().ToString(), text);
  if (*again->statement != *parsed.statement) Fail("another tree: " + printed, text);
  if (Print(*again->statement) != printed) Fail("another text: " + printed, text);
}

}  // namespace

void CheckStatements(std::string_view text) {
  const ParsedScript script = grammar::Parse(text);
  for (const Status& error : script.errors) {
    if (error.info().error_class != "SYNTAX") Fail("an error of another class: " + error.ToString(), text);
    CheckPosition(error.position(), text);
  }
  if (static_cast<int64_t>(script.errors.size()) > kMaxScriptErrors) Fail("too many errors", text);
  for (const ParsedStatement& parsed : script.statements) CheckStatement(parsed, text);
  (void)grammar::ExpectedAfter(text);
}

}  // namespace traind::fuzzing
