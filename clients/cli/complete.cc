// The daemon knows what its grammar takes and which names there are.
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

bool IsWordCharacter(char c) {
  return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool StartsWith(std::string_view word, std::string_view beginning) {
  return word.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), word.begin(), [](char a, char b) {
           return tolower(static_cast<unsigned char>(a)) == tolower(static_cast<unsigned char>(b));
         });
}

// What the daemon says may stand at the end of `text`; placeholders and punctuation are nothing to insert.
std::vector<std::string> WordsAfter(traind_conn* conn, const std::string& text) {
  std::vector<std::string> found;
  traind_words* words = nullptr;
  if (traind_complete(conn, text.data(), static_cast<int64_t>(text.size()), &words) != TRAIND_OK)
    return found;
  for (int32_t i = 0; i < traind_words_count(words); ++i) {
    const std::string_view kind = traind_words_kind(words, i);
    if (kind != "placeholder" && kind != "punctuation") found.emplace_back(traind_words_text(words, i));
  }
  traind_words_free(words);
  return found;
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
  return Choose(WordsAfter(conn, text), std::string_view(text).substr(begin));
}

}  // namespace traind::cli
