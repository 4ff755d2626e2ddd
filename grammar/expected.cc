// Expected lists by simulation, and hints from what stands there instead.
#include "grammar/expected.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>
#include <tuple>

#include "engine/base/nearest.h"
#include "grammar/text.h"

namespace traind::grammar {
namespace {

// Whether `code` could only begin clauses that have been given already.
bool OnlyRepeats(const Lalr& parser, const Builder& build, int code) {
  bool repeats = false;
  for (int i = 0; i < static_cast<int>(Clause::kCount); ++i) {
    const auto clause = static_cast<Clause>(i);
    const ClauseInfo& info = InfoOf(clause);
    if (info.first != code || !parser.AcceptsPair(info.first, info.second)) continue;
    if (!build.Begun(clause)) return false;
    repeats = true;
  }
  return repeats;
}

std::vector<int> ExpectedCodes(const Lalr& parser, const Builder& build) {
  std::vector<int> codes = parser.Accepted();
  std::erase_if(codes, [&](int code) { return OnlyRepeats(parser, build, code); });
  return codes;
}

bool Contains(const std::vector<int>& codes, int code) {
  return std::ranges::find(codes, code) != codes.end();
}

std::vector<std::string> Displays(const std::vector<int>& codes) {
  const auto rank = [](std::string_view display) {
    const bool placeholder = display.starts_with("a ") || display.starts_with("an ");
    return std::tuple(placeholder ? 1 : IsNameStart(display[0]) ? 0 : 2, display);
  };
  std::vector<std::string> displays;
  for (const int code : codes) {
    if (!DisplayOf(code).empty()) displays.emplace_back(DisplayOf(code));
  }
  std::ranges::sort(displays, {}, rank);
  displays.erase(std::unique(displays.begin(), displays.end()), displays.end());
  return displays;
}

// The expected keyword that `word` is most likely a misspelling of, or "": among equally near ones that of
// the same length (FORM is FROM, not FOR).
std::string NearestKeyword(const std::vector<int>& codes, std::string_view word) {
  if (word.size() < 3) return {};
  std::vector<std::string_view> keywords;
  for (const int code : codes) {
    if (const Keyword* keyword = KeywordOf(code)) keywords.push_back(keyword->word);
  }
  const auto size = static_cast<int64_t>(word.size());
  std::ranges::stable_sort(keywords, {}, [&](std::string_view keyword) {
    return std::abs(static_cast<int64_t>(keyword.size()) - size);
  });
  return NearestWord(word, std::span<const std::string_view>(keywords));
}

std::string HintFor(const std::vector<int>& codes, const Token& token) {
  const bool bare_word = IsWord(token) && token.text[0] != '"';
  if (bare_word) {
    const std::string nearest = NearestKeyword(codes, token.text);
    if (!nearest.empty() && nearest != UpperCase(token.text)) return "Did you mean " + nearest + "?";
  }
  const std::string text = token.text.size() <= 40 ? std::string(token.text) : "…";
  const Keyword* keyword = KeywordOf(token.code);
  if (keyword != nullptr && keyword->use == KeywordUse::kReserved && Contains(codes, TK_NAME)) {
    return "A name is missing, or is to be quoted: \"" + text + "\".";
  }
  if (bare_word && Contains(codes, TK_STRING) && !Contains(codes, TK_NAME)) {
    return "Strings stand in single quotes: '" + text + "'.";
  }
  if (token.code == TK_STRING && Contains(codes, TK_NAME)) return "Names stand bare or in double quotes.";
  if (token.code == TK_NAME && token.text[0] == '"' && Contains(codes, TK_STRING) &&
      !Contains(codes, TK_NAME)) {
    return "Strings stand in single quotes.";
  }
  const bool comparison = token.code == TK_OPERATOR || token.code == TK_EQ || token.code == TK_LT ||
                          token.code == TK_LE || token.code == TK_COLON;
  if (comparison) {
    for (const int code : {TK_EQ, TK_LT, TK_LE}) {
      if (Contains(codes, code)) return "Write " + std::string(DisplayOf(code)) + " here.";
    }
  }
  if (Contains(codes, TK_TRAIN) && Contains(codes, TK_HELP)) return "HELP lists the statements.";
  return "";
}

}  // namespace

std::vector<std::string> ExpectedNext(const Lalr& parser, const Builder& build) {
  return Displays(ExpectedCodes(parser, build));
}

Status SyntaxError(const Lalr& parser, const Builder& build, const Token& token) {
  const std::vector<int> codes = ExpectedCodes(parser, build);
  const std::string message =
      token.code == TK_END ? "the statement is not complete" : "unexpected " + Excerpt(token.text);
  return Status(ErrorCode::SYNTAX, message, HintFor(codes, token))
      .At(token.position)
      .Expecting(Displays(codes));
}

}  // namespace traind::grammar
