// The lexer: which bytes belong together (re2c), and what is made of them.
#include "grammar/lexer.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "engine/base/limits.h"
#include "grammar/text.h"

namespace traind::grammar {
namespace {

// What Scan finds beside tokens whose code is known at once.
enum Lexeme : int {
  kBlank = -100,
  kComment,
  kWord,
  kHexadecimal,
  kBadParameter,
  kUnknownCharacter,
  kOpenString,
  kOpenName,
  kOpenComment,
  kEndOfText,
};

// Finds the longest lexeme at `begin` and returns where it ends in `end`. `limit` points at the text's
// terminating NUL.
int Scan(const char* begin, const char* limit, const char** end) {
  const auto* YYCURSOR = reinterpret_cast<const unsigned char*>(begin);
  const auto* YYLIMIT = reinterpret_cast<const unsigned char*>(limit);
  const unsigned char* YYMARKER = nullptr;
  const auto found = [&](int lexeme) {
    *end = reinterpret_cast<const char*>(YYCURSOR);
    return lexeme;
  };
  /*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:yyfill:enable = 0;
    re2c:eof = 0;

    start     = [A-Za-z_];
    character = [A-Za-z0-9_];
    digits    = [0-9]+;

    [ \t\r\n\f\v]+                                { return found(kBlank); }
    "--" [^\n]*                                   { return found(kComment); }
    "/*" ([^*] | "*"+ [^*/])* "*"+ "/"            { return found(kComment); }
    "/*" ([^*] | "*"+ [^*/])* "*"*                { return found(kOpenComment); }

    start character* ([.\-] character+)*          { return found(kWord); }
    ["] ([^"] | ["]["])* ["]                      { return found(TK_NAME); }
    ["] ([^"] | ["]["])*                          { return found(kOpenName); }
    ['] ([^'] | [']['])* [']                      { return found(TK_STRING); }
    ['] ([^'] | ['][''])*                         { return found(kOpenString); }

    "0" [xX] [0-9A-Fa-f]+                         { return found(kHexadecimal); }
    // A number and what is joined to it; whether it is a quantity, ParseQuantity decides.
    [.]? [0-9] [A-Za-z0-9_.]*                     { return found(TK_QUANTITY); }
    [.]? digits ([.] digits)? [eE] [+\-] digits [A-Za-z0-9_.]*
                                                  { return found(TK_QUANTITY); }

    "$" start character*                          { return found(TK_PARAMETER); }
    "?"                                           { return found(TK_POSITIONAL); }
    "?" character+                                { return found(TK_POSITIONAL); }
    "$" [0-9]*                                    { return found(kBadParameter); }

    ";"  { return found(TK_END); }
    "("  { return found(TK_LP); }
    ")"  { return found(TK_RP); }
    ","  { return found(TK_COMMA); }
    "="  { return found(TK_EQ); }
    "<"  { return found(TK_LT); }
    "<=" { return found(TK_LE); }
    "@"  { return found(TK_AT); }
    ":"  { return found(TK_COLON); }
    "-"  { return found(TK_MINUS); }
    "==" | "<>" | "!=" | ">" | ">=" | "<<" | ">>" | "->" | "->>" | "||" | [+*/%.&|~] | "[" | "]"
         { return found(TK_OPERATOR); }

    $    { return found(kEndOfText); }
    *    { return found(kUnknownCharacter); }
  */
}

// Numbers take "/s" (600GB/s) or "%" along, where no operator can be meant.
const char* EndOfUnit(const char* begin, const char* end, const char* limit) {
  const auto at = [&](const char* place) { return place < limit ? *place : '\0'; };
  if (at(end) == '/' && at(end + 1) == 's' && !IsNameCharacter(at(end + 2)) && end[-1] == 'B' && end - begin > 1) {
    return end + 2;
  }
  if (at(end) == '%') {
    const char next = at(end + 1);
    const bool operand = IsNameCharacter(next) || next == '(' || next == '$' || next == '?' || next == '\'' ||
                         next == '"' || next == '.';
    if (!operand) return end + 1;
  }
  return end;
}

// In SQL a word ends at its first '.' or '-'; it is found without Scan, which would read on to its last.
const char* EndOfSqlWord(const char* begin) {
  const char* place = begin;
  while (IsNameCharacter(*place)) ++place;
  return place;
}

std::string_view HintFor(uint32_t code_point) {
  switch (code_point) {
    case 0x2018:
    case 0x2019: return "Strings stand in straight quotes: 'text'.";
    case 0x201C:
    case 0x201D: return "Names stand in straight quotes: \"name\"; strings in 'text'.";
    case '`': return "Quote names with \"double quotes\".";
    case '#': return "Comments begin with -- or stand between /* and */.";
    case 0xA0: return "This is a no-break space: write an ordinary blank.";
    default: return "";
  }
}

}  // namespace

Lexer::Lexer(std::string_view text, SourcePosition origin) : origin_(origin) {
  const size_t valid = std::min(ValidUtf8Length(text), text.find('\0'));
  damaged_ = valid < text.size();
  if (damaged_) damage_ = text[valid];
  text_ = text.substr(0, valid);
  state_ = {text_.data(), origin, origin, 0, 0};
  if (text_.starts_with("\xEF\xBB\xBF")) {  // a byte order mark takes no column
    state_.cursor += 3;
    state_.position.offset += 3;
    state_.last_end = state_.position;
  }
  if (origin.offset == 0 && std::string_view(state_.cursor).starts_with("#!")) {
    const std::string_view rest(state_.cursor);
    Advance(rest.substr(0, rest.find('\n')));
  }
}

void Lexer::Advance(std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      ++state_.position.line;
      state_.position.column = 1;
    } else if (!IsContinuationByte(c)) {
      ++state_.position.column;
    }
  }
  state_.position.offset += static_cast<int64_t>(text.size());
  state_.cursor += text.size();
}

Token Lexer::Next(Mode mode) {
  const char* limit = text_.data() + text_.size();
  for (bool space_before = false;; space_before = true) {
    if (AtDamage()) return Damage(space_before);
    const char* begin = state_.cursor;
    const char* end = begin;
    int lexeme = kWord;
    if (mode == Mode::kSql && IsNameStart(*begin)) {
      end = EndOfSqlWord(begin);
    } else {
      lexeme = Scan(begin, limit, &end);
    }
    if (lexeme == kEndOfText) return End(space_before);
    if (damaged_ && end == limit && (lexeme == kOpenString || lexeme == kOpenName || lexeme == kOpenComment)) {
      Advance({begin, limit});  // the fault is the byte, not the quote
      continue;
    }
    if (lexeme == kHexadecimal && mode == Mode::kLanguage) lexeme = TK_QUANTITY;
    if (lexeme == TK_QUANTITY) end = EndOfUnit(begin, end, limit);
    const std::string_view text(begin, end);
    if (lexeme == kBlank || lexeme == kComment) {
      Advance(text);
      continue;
    }
    Token token = MakeToken(lexeme, text, mode);
    token.space_before = space_before;
    return token;
  }
}

Token Lexer::MakeToken(int lexeme, std::string_view text, Mode mode) {
  Token token;
  token.code = lexeme;
  token.text = text;
  token.position = state_.position;
  Advance(text);
  state_.last_end = state_.position;
  switch (lexeme) {
    case kWord: {
      const Keyword* keyword = FindKeyword(text);
      token.code = keyword != nullptr ? keyword->code : TK_NAME;
      [[fallthrough]];
    }
    case TK_NAME:
    case TK_PARAMETER: {
      if (mode == Mode::kSql && lexeme == TK_NAME) return token;
      Status status = CheckName(token);
      return status.ok() ? token : Invalid(token, std::move(status));
    }
    case TK_QUANTITY: return MakeQuantity(token);
    case kHexadecimal: token.code = TK_OPERATOR; return token;
    case TK_POSITIONAL: return MakePositional(token);
    case kBadParameter:
      return Invalid(token, Status(ErrorCode::SYNTAX, Excerpt(text) + " is no parameter",
                                   "Parameters are written $name or ?."));
    case kOpenString:
      return Unterminated(token, OpenEnd::kString, ErrorCode::UNTERMINATED_STRING, "string has no closing '");
    case kOpenName:
      return Unterminated(token, OpenEnd::kName, ErrorCode::UNTERMINATED_STRING, "quoted name has no closing \"");
    case kOpenComment:
      return Unterminated(token, OpenEnd::kComment, ErrorCode::UNTERMINATED_COMMENT, "comment has no closing */");
    case kUnknownCharacter: return InvalidCharacter(token);
    case TK_LP: ++state_.parentheses; return token;
    case TK_RP: state_.parentheses -= state_.parentheses > 0 ? 1 : 0; return token;
    default: return token;
  }
}

Token Lexer::MakeQuantity(Token token) {
  Result<Quantity> quantity = ParseQuantity(token.text);
  if (!quantity.ok()) return Invalid(token, quantity.status());
  token.quantity = *quantity;
  return token;
}

Token Lexer::MakePositional(Token token) {
  int64_t ordinal = state_.last_ordinal + 1;
  if (token.text.size() > 1) {
    ordinal = 0;
    for (const char c : token.text.substr(1)) {
      ordinal = IsDigit(c) && ordinal <= kMaxListItems ? ordinal * 10 + (c - '0') : kMaxListItems + 1;
    }
    if (ordinal == 0 || token.text[1] == '0') ordinal = kMaxListItems + 1;
  }
  if (ordinal > kMaxListItems) {
    return Invalid(token, Status(ErrorCode::SYNTAX, Excerpt(token.text) + " is no parameter",
                                 "Parameters are written $name, ? or ?1 to ?" + std::to_string(kMaxListItems) + "."));
  }
  token.ordinal = static_cast<int32_t>(ordinal);
  state_.last_ordinal = std::max(state_.last_ordinal, token.ordinal);
  return token;
}

Status Lexer::CheckName(const Token& token) const {
  const bool quoted = token.text[0] == '"';
  const std::string_view inner = quoted              ? token.text.substr(1, token.text.size() - 2)
                                 : token.text[0] == '$' ? token.text.substr(1)
                                                        : token.text;
  if (inner.empty()) return Status(ErrorCode::NAME_TOO_LONG, "a name is empty");
  int64_t characters = CountCharacters(inner);
  for (size_t i = 0; quoted && i < inner.size(); i += CharacterLength(inner, i)) {
    if (inner[i] == '"') {
      ++i;
      --characters;
    }
    if (IsControl(CodePointAt(inner, i))) {
      return Status(ErrorCode::INVALID_CHARACTER, "the name " + Excerpt(inner) + " holds a control character");
    }
  }
  if (characters <= kMaxNameCharacters) return Ok();
  return Status(ErrorCode::NAME_TOO_LONG, "the name " + Excerpt(inner) + " has " + std::to_string(characters) +
                                              " characters; the most are " + std::to_string(kMaxNameCharacters));
}

Token Lexer::Invalid(Token token, Status error) {
  error_ = std::move(error).At(token.position);
  token.code = kInvalidToken;
  return token;
}

Token Lexer::InvalidCharacter(const Token& token) {
  // Take the whole character: re2c found its first byte.
  const char* end = token.text.data() + 1;
  while (IsContinuationByte(*end)) ++end;
  Token whole = token;
  whole.text = {token.text.data(), end};
  state_.position.offset += static_cast<int64_t>(whole.text.size()) - 1;
  state_.cursor = end;
  state_.last_end = state_.position;
  const uint32_t code_point = CodePointAt(whole.text, 0);
  char number[16];
  std::snprintf(number, sizeof number, "U+%04X", code_point);
  std::string message = "the character ";
  if (!IsControl(code_point)) message += Excerpt(whole.text) + " ";
  message += "(" + std::string(number) + ") begins no word of the language";
  return Invalid(whole, Status(ErrorCode::INVALID_CHARACTER, message, std::string(HintFor(code_point))));
}

Token Lexer::Unterminated(const Token& token, OpenEnd open, ErrorCode code, std::string_view what) {
  open_ = open;
  return Invalid(token, Status(code, "this " + std::string(what)));
}

Token Lexer::Damage(bool space_before) {
  if (damage_reported_) return End(space_before);
  damage_reported_ = true;
  state_.last_end = state_.position;
  const Token token = End(space_before);
  if (damage_ == '\0') {
    return Invalid(token, Status(ErrorCode::INVALID_CHARACTER, "the text holds a NUL; nothing behind it was read"));
  }
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned>(static_cast<unsigned char>(damage_)));
  return Invalid(token, Status(ErrorCode::INVALID_UTF8,
                               "the byte " + std::string(byte) + " at offset " +
                                   std::to_string(state_.position.offset) +
                                   " is not UTF-8; nothing behind it was read",
                               "Save the text as UTF-8."));
}

Token Lexer::End(bool space_before) {
  Token token;
  token.code = TK_END;
  token.position = state_.last_end;
  token.space_before = space_before;
  return token;
}

}  // namespace traind::grammar
