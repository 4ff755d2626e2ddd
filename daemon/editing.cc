// Tokens come from the lexer, continuations from the grammar's own tables, names from the catalog.
#include "daemon/editing.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "daemon/catalog/row.h"
#include "daemon/catalog/views.h"
#include "daemon/dispatch.h"
#include "grammar/lexer.h"
#include "grammar/parse.h"
#include "grammar/token.h"

namespace traind::daemon {
namespace {

constexpr int64_t kMostNames = 200;

Json TokenJson(size_t begin, size_t end, std::string_view kind) {
  return Json{{"begin", begin}, {"end", end}, {"kind", kind}};
}

std::string_view KindOf(const grammar::Token& token) {
  switch (token.code) {
    case grammar::kInvalidToken:
      return "invalid";
    case TK_NAME:
      return "name";
    case TK_STRING:
      return "string";
    case TK_QUANTITY:
      return "number";
    case TK_PARAMETER:
    case TK_POSITIONAL:
      return "parameter";
    default:
      return grammar::KeywordOf(token.code) != nullptr ? "keyword" : "punctuation";
  }
}

// Statements whose body is SQL, where '.' and '-' do not join names.
bool BeginsSql(int code) {
  return code == TK_SELECT || code == TK_WITH || code == TK_ASSERT || code == TK_WHERE;
}

// What stands between two tokens besides blanks is a comment.
void AddComment(std::string_view text, size_t begin, size_t end, Json* tokens) {
  const auto blank = [&](size_t at) { return std::isspace(static_cast<unsigned char>(text[at])) != 0; };
  while (begin < end && blank(begin)) ++begin;
  while (end > begin && blank(end - 1)) --end;
  if (begin < end) tokens->push_back(TokenJson(begin, end, "comment"));
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Where names of a kind stand, by the word before them, and how they are found.
struct NameSource {
  std::string_view before;
  std::string_view kind;
  std::string_view query;
};
constexpr NameSource kNameSources[] = {
    {"MODEL", "model", "SELECT name FROM sys_models ORDER BY name"},
    {"OF", "model", "SELECT name FROM sys_models ORDER BY name"},
    {"LIKE", "model", "SELECT name FROM sys_models ORDER BY name"},
    {"DATASET", "dataset", "SELECT name FROM sys_datasets ORDER BY name"},
    {"FROM", "dataset", "SELECT name FROM sys_datasets ORDER BY name"},
    {"JOB", "job", "SELECT name FROM sys_jobs WHERE name IS NOT NULL GROUP BY name ORDER BY max(id) DESC"},
};

std::string Upper(std::string_view word) {
  std::string upper(word);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

std::string LastWord(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1])) != 0) --end;
  size_t begin = end;
  while (begin > 0 && IsWordCharacter(text[begin - 1])) --begin;
  return Upper(text.substr(begin, end - begin));
}

// Words that begin as `typed` does, in any case.
class Words {
 public:
  explicit Words(std::string_view typed) : typed_(Upper(typed)) {}

  void Add(std::string_view word, std::string_view kind) {
    if (!Upper(word.substr(0, typed_.size())).starts_with(typed_) || word.size() < typed_.size()) return;
    words_.push_back(Json{{"text", word}, {"kind", kind}});
  }
  Json Take() { return std::move(words_); }

 private:
  std::string typed_;
  Json words_ = Json::array();
};

std::string_view KindOfExpected(std::string_view word) {
  const bool letters =
      std::ranges::any_of(word, [](char c) { return std::isalpha(static_cast<unsigned char>(c)); });
  if (!letters) return "punctuation";
  return Upper(word) == word ? "keyword" : "placeholder";
}

Status AddNames(std::string_view before, Connection& reader, Words* words) {
  for (const NameSource& source : kNameSources) {
    if (source.before != before) continue;
    TRAIND_ASSIGN(const auto rows, reader.Query(source.query));
    for (const auto& row : rows) {
      if (static_cast<int64_t>(&row - rows.data()) == kMostNames) break;
      words->Add(RowReader(row).Text(), source.kind);
    }
  }
  return {};
}

// Whether the last statement of the text is SQL.
bool StandsInSql(std::string_view text) {
  grammar::Lexer lexer(text, {0, 1, 1});
  int first = TK_END;
  while (true) {
    const grammar::Token token = lexer.Next(grammar::Lexer::Mode::kSql);
    if (token.code == TK_END && token.text.empty()) break;
    if (token.code == TK_END || first == TK_END) first = token.code;
  }
  return BeginsSql(first);
}

void AddViews(std::string_view before, Words* words) {
  if (before != "FROM" && before != "JOIN") return;
  for (const View& view : AllViews()) words->Add(view.name, "view");
}

}  // namespace

Result<Json> LexText(const std::string& text) {
  TRAIND_TRY(CheckTextLength(text));
  grammar::Lexer lexer(text, {0, 1, 1});
  Json tokens = Json::array();
  size_t end = 0;
  bool first = true, sql = false;
  while (true) {
    const grammar::Token token =
        lexer.Next(sql ? grammar::Lexer::Mode::kSql : grammar::Lexer::Mode::kLanguage);
    if (token.code == TK_END && token.text.empty()) break;
    const size_t begin = std::max(end, static_cast<size_t>(token.position.offset));
    AddComment(text, end, begin, &tokens);
    // What is no UTF-8 has no extent: it is shown as one byte.
    end = std::max(static_cast<size_t>(lexer.last_end_offset()), std::min(begin + 1, text.size()));
    tokens.push_back(TokenJson(begin, end, KindOf(token)));
    if (token.code == TK_END) lexer.StartStatement();
    sql = token.code != TK_END && (sql || (BeginsSql(token.code) && (first || token.code == TK_WHERE)));
    first = token.code == TK_END;
  }
  AddComment(text, end, text.size(), &tokens);
  return Json{{"tokens", std::move(tokens)}};
}

Result<Json> CompleteText(const std::string& text, Connection& reader) {
  TRAIND_TRY(CheckTextLength(text));
  size_t begin = text.size();
  while (begin > 0 && IsWordCharacter(text[begin - 1])) --begin;
  const std::string before = text.substr(0, begin);
  Words words(std::string_view(text).substr(begin));
  const std::vector<std::string> expected = grammar::ExpectedAfter(before);
  for (const std::string& word : expected) words.Add(word, KindOfExpected(word));
  const auto is_name = [](std::string_view word) { return word == "a name" || word == "a word"; };
  if (std::ranges::any_of(expected, is_name)) TRAIND_TRY(AddNames(LastWord(before), reader, &words));
  if (StandsInSql(before)) AddViews(LastWord(before), &words);
  return Json{{"begin", begin}, {"words", words.Take()}};
}

}  // namespace traind::daemon
