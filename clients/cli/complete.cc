// The parser is asked with a token at the cursor that fits nowhere: its error lists what would.
#include "clients/cli/complete.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "clients/cli/dot_commands.h"
#include "clients/cli/text.h"

namespace traind::cli {
namespace {

constexpr int kListWidth = 78;
constexpr size_t kMostNames = 200;

bool IsWordCharacter(char c) {
  return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool IsKeyword(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return isupper(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

bool StartsWith(std::string_view word, std::string_view beginning) {
  return word.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), word.begin(), [](char a, char b) {
           return tolower(static_cast<unsigned char>(a)) == tolower(static_cast<unsigned char>(b));
         });
}

// Where names of one kind stand, by the word before them.
struct NameSource {
  std::string_view before;
  const char* query;
};
constexpr NameSource kNameSources[] = {
    {"MODEL", "SELECT name FROM sys_models"},
    {"OF", "SELECT name FROM sys_models"},
    {"LIKE", "SELECT name FROM sys_models"},
    {"DATASET", "SELECT name FROM sys_datasets"},
    {"FROM", "SELECT name FROM sys_datasets"},
    {"JOB", "SELECT DISTINCT name FROM sys_jobs WHERE name IS NOT NULL"},
};

std::string LastWord(std::string_view text) {
  size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  size_t begin = end + 1;
  while (begin > 0 && IsWordCharacter(text[begin - 1])) --begin;
  std::string word(text.substr(begin, end + 1 - begin));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(toupper(c)); });
  return word;
}

// The names that may stand behind `text`, as the catalog has them.
std::vector<std::string> NamesAfter(traind_conn* conn, std::string_view text) {
  std::vector<std::string> names;
  std::string before = LastWord(text);
  for (const NameSource& source : kNameSources) {
    traind_stmt* stmt = nullptr;
    if (source.before != before || traind_prepare(conn, source.query, -1, &stmt, nullptr) != TRAIND_OK)
      continue;
    while (names.size() < kMostNames && traind_step(stmt) == TRAIND_ROW) {
      const char* name = nullptr;
      if (traind_column_text(stmt, 0, &name, nullptr) == TRAIND_OK && name != nullptr)
        names.emplace_back(name);
    }
    traind_stmt_free(stmt);
  }
  return names;
}

// The keywords in the expected list of the last error of `text`.
std::vector<std::string> ExpectedIn(traind_conn* conn, const std::string& text) {
  std::vector<std::string> words;
  traind_script* script = nullptr;
  if (traind_check(conn, text.data(), static_cast<int64_t>(text.size()), &script) != TRAIND_OK) return words;
  traind_error* error = nullptr;
  traind_script_error(script, traind_script_error_count(script) - 1, &error);
  for (int32_t i = 0; i < traind_error_expected_count(error); ++i) {
    std::string word = traind_error_expected(error, i);
    if (!word.empty() && IsKeyword(word)) words.push_back(std::move(word));
  }
  traind_error_free(error);
  traind_script_free(script);
  return words;
}

std::string CommonBeginning(const std::vector<std::string>& words) {
  std::string common = words.front();
  for (const std::string& word : words) {
    auto ends = std::mismatch(common.begin(), common.end(), word.begin(), word.end());
    common.erase(ends.first, common.end());
  }
  return common;
}

Completion Choose(std::vector<std::string> words, std::string_view typed) {
  std::erase_if(words, [&](const std::string& word) { return !StartsWith(word, typed); });
  if (words.empty()) return {};
  bool lower = !typed.empty() && std::none_of(typed.begin(), typed.end(), [](char c) {
    return isupper(static_cast<unsigned char>(c)) != 0;
  });
  std::string insert = CommonBeginning(words).substr(typed.size()) + (words.size() == 1 ? " " : "");
  if (lower)
    std::transform(insert.begin(), insert.end(), insert.begin(),
                   [](unsigned char c) { return static_cast<char>(tolower(c)); });
  if (!insert.empty()) return {insert, ""};
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : "  ") + word;
  std::string choices;
  for (const std::string& line : WrapText(list, kListWidth)) choices += (choices.empty() ? "" : "\n") + line;
  return {"", choices};
}

}  // namespace

Completion CompleteWord(traind_conn* conn, const std::string& text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '.') {
    bool name = text.find_first_of(" \t", first) == std::string::npos;
    return name ? Choose(DotCommandNames(), std::string_view(text).substr(first)) : Completion();
  }
  size_t begin = text.size();
  while (begin > 0 && IsWordCharacter(text[begin - 1])) --begin;
  std::vector<std::string> words = ExpectedIn(conn, text.substr(0, begin) + " ) ");
  std::vector<std::string> names = NamesAfter(conn, std::string_view(text).substr(0, begin));
  words.insert(words.end(), names.begin(), names.end());
  return Choose(std::move(words), std::string_view(text).substr(begin));
}

}  // namespace traind::cli
