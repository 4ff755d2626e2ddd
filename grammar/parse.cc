// The reader: drives lexer and parser over a script, statement by statement.
#include "grammar/parse.h"

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>

#include "engine/base/limits.h"
#include "grammar/builder.h"
#include "grammar/expected.h"
#include "grammar/lalr.h"
#include "grammar/lexer.h"
#include "grammar/sql.h"
#include "grammar/text.h"

namespace traind::grammar {
namespace {

// A bare word, or the number of an error.
bool MayBeHelpWord(const Token& token) {
  if (token.code == TK_QUANTITY) return std::ranges::all_of(token.text, IsDigit);
  return IsWord(token) && token.text[0] != '"';
}

// Reads one statement with a parser of its own.
class StatementReader {
 public:
  explicit StatementReader(Lexer* lexer) : lexer_(lexer), parser_(&build_) { lexer_->StartStatement(); }

  // Feeds the tokens up to the statement's end, which is read but not fed. On an error the rest is skipped.
  Status ReadTokens() {
    Status status;
    while (status.ok() && end_.code != TK_END) status = ReadToken();
    while (end_.code != TK_END) Next();
    return status;
  }

  // Feeds the end.
  Result<Statement> Finish() {
    TRAIND_TRY(Feed(end_));
    std::optional<Statement> statement = build_.Take();
    if (!statement) return Status(ErrorCode::INTERNAL, "the parser made nothing of a statement");
    return *std::move(statement);
  }

  std::vector<std::string> Expected() const { return ExpectedNext(parser_, build_); }
  bool empty() const { return tokens_.empty(); }
  const Token& first() const { return tokens_.front(); }
  const Token& end() const { return end_; }

  // In order of appearance, each once.
  std::vector<Parameter> TakeParameters() { return std::move(parameters_); }

  bool in_parentheses() const { return lexer_->state().parentheses > 0; }
  // Where the last token before the end ends, in the text given.
  int64_t end_offset() const { return end_offset_; }

 private:
  Token Next() {
    const int64_t offset = lexer_->last_end_offset();
    Token token = lexer_->Next(Lexer::Mode::kLanguage);
    if (token.code == TK_END) {
      end_ = token;
      end_offset_ = offset;
    }
    return token;
  }

  Status ReadToken() {
    if (parser_.Accepts(TK_SQL)) TRAIND_TRY(ReadSqlPiece());
    Token token = Next();
    if (token.code == TK_END) return Ok();
    if (token.code == kInvalidToken) {
      tokens_.push_back(token);
      return lexer_->error();
    }
    if (MayBeHelpWord(token) && parser_.Accepts(TK_WORD)) token.code = TK_WORD;
    const bool names_variable = !tokens_.empty() && tokens_.back().code == TK_LET;
    if ((token.code == TK_PARAMETER || token.code == TK_POSITIONAL) && !names_variable) {
      TRAIND_TRY(AddParameter(Builder::MakeParameter(token)));
    }
    tokens_.push_back(token);
    return Feed(tokens_.back());
  }

  Status ReadSqlPiece() {
    Token token;
    Sql* piece = build_.Make(Sql());
    token.code = TK_SQL;
    token.sql = piece;
    TRAIND_TRY(ReadSql(lexer_, tokens_.back(), piece));
    if (piece->text.empty()) return Ok();
    for (const Parameter& parameter : piece->parameters) TRAIND_TRY(AddParameter(parameter));
    token.position = piece->position;
    tokens_.push_back(token);
    return Feed(tokens_.back());
  }

  Status Feed(const Token& token) {
    if (!parser_.Accepts(token.code)) return SyntaxError(parser_, build_, token);
    parser_.Feed(&token);
    return build_.error();
  }

  Status AddParameter(const Parameter& parameter) {
    if (!parameter_names_.insert((parameter.positional ? "?" : "$") + parameter.name).second) return Ok();
    if (static_cast<int64_t>(parameters_.size()) == kMaxListItems) {
      return Status(ErrorCode::STATEMENT_TOO_LONG,
                    "a statement has more than " + std::to_string(kMaxListItems) + " parameters")
          .At(parameter.position);
    }
    parameters_.push_back(parameter);
    return Ok();
  }

  Lexer* lexer_;
  Builder build_;
  Lalr parser_;
  std::deque<Token> tokens_;  // those fed, and the invalid one
  Token end_;
  int64_t end_offset_ = 0;
  std::vector<Parameter> parameters_;
  std::unordered_set<std::string> parameter_names_;
};

// Reads a script: all statements, all errors, up to the limits.
class ScriptReader {
 public:
  ScriptReader(std::string_view text, SourcePosition origin) : origin_(origin), lexer_(text, origin) {
    const auto semicolons = static_cast<int64_t>(std::ranges::count(text, ';'));
    script_.statements.reserve(static_cast<size_t>(std::min(semicolons + 1, kMaxScriptStatements)));
  }

  ParsedScript Read() {
    while (static_cast<int64_t>(script_.errors.size()) < kMaxScriptErrors) {
      if (!ReadStatement()) break;
    }
    if (lexer_.open() != OpenEnd::kNothing) script_.open = lexer_.open();
    return std::move(script_);
  }

 private:
  // False at the end of the text.
  bool ReadStatement() {
    StatementReader reader(&lexer_);
    const Status status = reader.ReadTokens();
    const bool last = reader.end().text.empty();
    if (reader.empty()) return !last;  // nothing before a ';', or behind the last one
    if (static_cast<int64_t>(script_.statements.size()) == kMaxScriptStatements) {
      script_.errors.push_back(TooManyStatements().At(reader.first().position));
      return false;
    }
    if (last) script_.open = reader.in_parentheses() ? OpenEnd::kParenthesis : OpenEnd::kStatement;
    ParsedStatement& parsed = script_.statements.emplace_back();
    parsed.position = reader.first().position;
    parsed.begin = parsed.position.offset - origin_.offset;
    parsed.end = reader.end_offset();
    Result<Statement> statement = status.ok() ? reader.Finish() : Result<Statement>(status);
    parsed.parameters = reader.TakeParameters();
    if (statement.ok()) {
      parsed.kind = KindOf(*statement);
      parsed.statement = *std::move(statement);
    } else {
      script_.errors.push_back(statement.status());
    }
    return !last;
  }

  static Status TooManyStatements() {
    return Status(ErrorCode::STATEMENT_TOO_LONG,
                  "the script has more than " + std::to_string(kMaxScriptStatements) + " statements");
  }

  SourcePosition origin_;
  Lexer lexer_;
  ParsedScript script_;
};

Status NoStatement(SourcePosition position) {
  return Status(ErrorCode::SYNTAX, "there is no statement", "HELP lists the statements.")
      .At(position)
      .Expecting(ExpectedAfter(""));
}

}  // namespace

ParsedScript Parse(std::string_view text, SourcePosition origin) {
  if (static_cast<int64_t>(text.size()) > kMaxScriptBytes) {
    ParsedScript script;
    script.errors.push_back(
        Status(ErrorCode::STATEMENT_TOO_LONG, "the script has " + std::to_string(text.size()) +
                                                  " bytes; the most are " + std::to_string(kMaxScriptBytes))
            .At(origin));
    return script;
  }
  return ScriptReader(text, origin).Read();
}

Result<ParsedStatement> ParseOne(std::string_view text, SourcePosition origin) {
  ParsedScript script = Parse(text, origin);
  if (!script.errors.empty()) return script.errors.front();
  if (script.statements.empty()) return NoStatement(origin);
  if (script.statements.size() > 1) {
    return Status(ErrorCode::SYNTAX, "only one statement may stand here").At(script.statements[1].position);
  }
  return std::move(script.statements.front());
}

std::vector<std::string> ExpectedAfter(std::string_view text) {
  Lexer lexer(text.substr(0, kMaxScriptBytes), {0, 1, 1});
  Lexer::State last_statement = lexer.state();
  bool invalid = false;
  for (Token token = lexer.Next(Lexer::Mode::kSql); token.code != TK_END || !token.text.empty();
       token = lexer.Next(Lexer::Mode::kSql)) {
    invalid = token.code == kInvalidToken || (invalid && token.code != TK_END);
    if (token.code == TK_END) last_statement = lexer.state();
  }
  if (invalid) return {};
  lexer.Restore(last_statement);
  StatementReader reader(&lexer);
  const Status status = reader.ReadTokens();
  if (status.ok()) return reader.Expected();
  return status.position() == reader.end().position ? status.expected() : std::vector<std::string>();
}

}  // namespace traind::grammar
