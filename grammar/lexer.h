// From bytes to tokens, with positions.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "grammar/parse.h"
#include "grammar/token.h"

namespace traind::grammar {

// Reads a script once from front to back, in time linear in its length. Tokens view the lexer's own copy of
// the text. What follows a byte that is not UTF-8, or a NUL, is not read: its encoding is unknown.
class Lexer {
 public:
  // How words are cut: in the language '.' and '-' join names (run-2.a) and a name's length is bounded; in
  // SQL they are operators, quoted names may be long, and numbers may be hexadecimal.
  enum class Mode { kLanguage, kSql };

  Lexer(std::string_view text, SourcePosition origin);
  Lexer(const Lexer&) = delete;
  Lexer& operator=(const Lexer&) = delete;

  // The next token; TK_END (with empty text) for ever at the end of the text, standing just behind the last
  // token. kInvalidToken if none can be made here; reading goes on behind it.
  Token Next(Mode mode);

  // Why the last token was invalid.
  const Status& error() const { return error_; }

  // A place to go back to.
  struct State {
    const char* cursor = nullptr;
    SourcePosition position;
    SourcePosition last_end;
    int32_t last_ordinal = 0;  // of a positional parameter in this statement
    int64_t parentheses = 0;   // open in this statement
  };
  const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }

  // Positional parameters are numbered from 1 again, and no parenthesis is open.
  void StartStatement() { state_.last_ordinal = 0, state_.parentheses = 0; }

  // The offset in the text given, whatever the origin, where the last token ends.
  int64_t last_end_offset() const { return state_.last_end.offset - origin_.offset; }

  // kString, kName or kComment once an unterminated one has been read, else kNothing.
  OpenEnd open() const { return open_; }

 private:
  Token MakeToken(int lexeme, std::string_view text, Mode mode);
  Token MakeQuantity(Token token);
  Token MakePositional(Token token);
  Token Invalid(Token token, Status error);
  Token InvalidCharacter(const Token& token);
  Token Unterminated(const Token& token, OpenEnd open, ErrorCode code, std::string_view what);
  Status CheckName(const Token& token) const;
  Token End(bool space_before);
  bool AtDamage() const { return damaged_ && state_.cursor == text_.data() + text_.size(); }
  Token Damage(bool space_before);
  void Advance(std::string_view text);

  std::string text_;  // up to the first byte that is not UTF-8 or is NUL
  bool damaged_ = false;
  bool damage_reported_ = false;
  char damage_ = 0;
  SourcePosition origin_;
  State state_;
  OpenEnd open_ = OpenEnd::kNothing;
  Status error_;
};

}  // namespace traind::grammar
