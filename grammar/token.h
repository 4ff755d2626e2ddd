// Tokens: what the lexer makes of bytes and the grammar's tables are asked about.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/quantity.h"
#include "engine/base/status.h"
#include "grammar/tokens.h"

namespace traind::grammar {

struct Sql;

// Codes beside the grammar's own (TK_…, from 1).
inline constexpr int kNoToken = 0;
inline constexpr int kInvalidToken = -1;  // Lexer::error() says why
inline constexpr int kTokenCodes = 128;   // all codes are below

struct Token {
  int code = kNoToken;
  std::string_view text;  // as written, in the lexer's copy of the script
  SourcePosition position;
  bool space_before = false;  // blanks or comments stand between this and the token before
  Quantity quantity;          // TK_QUANTITY
  int32_t ordinal = 0;        // TK_POSITIONAL: its number within the statement, from 1
  const Sql* sql = nullptr;   // TK_SQL; borrowed from the Builder
};

// Where a keyword may be a name when it stands bare (keywords.def).
enum class KeywordUse { kFree, kContext, kReserved };

struct Keyword {
  std::string_view word;
  int code;
  KeywordUse use;
};

// The row of `word` in any case, or nullptr.
const Keyword* FindKeyword(std::string_view word);
// The row of a token, or nullptr if the token is no keyword.
const Keyword* KeywordOf(int code);
// A bare word or a "quoted" name.
inline bool IsWord(const Token& token) {
  return token.code == TK_NAME || KeywordOf(token.code) != nullptr;
}

// How messages name a kind of token: "FROM", "a name", "(".
std::string_view DisplayOf(int code);

// `text` in quotes for a message: cut after 40 characters, control characters as blanks.
std::string Excerpt(std::string_view text);

}  // namespace traind::grammar
