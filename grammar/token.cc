// The keyword table, and how tokens are shown to people.
#include "grammar/token.h"

#include <algorithm>
#include <array>
#include <string>

#include "grammar/text.h"

namespace traind::grammar {
namespace {

constexpr KeywordUse FREE = KeywordUse::kFree;
constexpr KeywordUse CONTEXT = KeywordUse::kContext;
constexpr KeywordUse RESERVED = KeywordUse::kReserved;

constexpr Keyword kKeywords[] = {
#define K(word, use) {#word, TK_##word, use},
#include "grammar/keywords.def"
#undef K
};

constexpr size_t kLongestKeyword =
    std::ranges::max(kKeywords, {}, [](const Keyword& keyword) { return keyword.word.size(); }).word.size();

static_assert(std::ranges::is_sorted(kKeywords, {}, &Keyword::word), "keywords.def is sorted by word");

constexpr std::array<const Keyword*, kTokenCodes> KeywordsByCode() {
  std::array<const Keyword*, kTokenCodes> rows{};
  for (const Keyword& keyword : kKeywords) rows[static_cast<size_t>(keyword.code)] = &keyword;
  return rows;
}

struct Display {
  int code;
  std::string_view text;
};
constexpr Display kDisplays[] = {
    {TK_END, ";"},
    {TK_NAME, "a name"},
    {TK_STRING, "a string"},
    {TK_QUANTITY, "a number"},
    {TK_PARAMETER, "a parameter"},
    {TK_POSITIONAL, "a parameter"},
    {TK_LP, "("},
    {TK_RP, ")"},
    {TK_COMMA, ","},
    {TK_EQ, "="},
    {TK_LT, "<"},
    {TK_LE, "<="},
    {TK_AT, "@"},
    {TK_COLON, ":"},
    {TK_MINUS, "-"},
    {TK_SQL, "an expression"},
    {TK_WORD, "a word"},
};

}  // namespace

const Keyword* FindKeyword(std::string_view word) {
  if (word.size() > kLongestKeyword) return nullptr;
  std::array<char, kLongestKeyword> upper;
  std::ranges::transform(word, upper.begin(), ToUpper);
  const std::string_view key(upper.data(), word.size());
  const auto* row = std::ranges::lower_bound(kKeywords, key, {}, &Keyword::word);
  return row != std::end(kKeywords) && row->word == key ? row : nullptr;
}

const Keyword* KeywordOf(int code) {
  static constexpr std::array<const Keyword*, kTokenCodes> rows = KeywordsByCode();
  return code > 0 && code < kTokenCodes ? rows[static_cast<size_t>(code)] : nullptr;
}

std::string_view DisplayOf(int code) {
  if (const Keyword* keyword = KeywordOf(code)) return keyword->word;
  const auto* row = std::ranges::find(kDisplays, code, &Display::code);
  return row != std::end(kDisplays) ? row->text : std::string_view();
}

std::string Excerpt(std::string_view text) {
  constexpr int kMost = 40;
  std::string shown = "'";
  int characters = 0;
  for (size_t i = 0; i < text.size();) {
    if (++characters > kMost) {
      shown += "…";
      break;
    }
    const size_t length = CharacterLength(text, i);
    if (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f) {
      shown += ' ';
    } else {
      shown.append(text, i, length);
    }
    i += length;
  }
  return shown + "'";
}

}  // namespace traind::grammar
