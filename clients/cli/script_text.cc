// Only as much of the language as tells where a statement may begin: quotes, comments, ';'.
#include "clients/cli/script_text.h"

#include <cctype>

namespace traind::cli {
namespace {

enum class In { kGap, kStatement, kString, kName, kLineComment, kComment };

// Follows the text byte by byte.
class Position {
 public:
  bool at_statement_start() const { return in_ == In::kGap; }

  void Take(char c, char next) {
    switch (in_) {
      case In::kString:
        return Close(c == '\'');
      case In::kName:
        return Close(c == '"');
      case In::kLineComment:
        return Close(c == '\n');
      case In::kComment:
        if (last_ == '*' && c == '/') Close(true);
        last_ = c;
        return;
      case In::kGap:
      case In::kStatement:
        return TakePlain(c, next);
    }
  }

 private:
  void Close(bool end) {
    if (end) in_ = before_;
  }
  void Enter(In in) {
    before_ = in == In::kString || in == In::kName ? In::kStatement : in_;
    in_ = in;
    last_ = '\0';
  }
  void TakePlain(char c, char next) {
    if (c == '\'') return Enter(In::kString);
    if (c == '"') return Enter(In::kName);
    if (c == '-' && next == '-') return Enter(In::kLineComment);
    if (c == '/' && next == '*') return Enter(In::kComment);
    if (c == ';')
      in_ = In::kGap;
    else if (isspace(static_cast<unsigned char>(c)) == 0)
      in_ = In::kStatement;
  }

  In in_ = In::kGap;
  In before_ = In::kGap;
  char last_ = '\0';
};

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

ScriptText SplitScript(std::string_view text) {
  ScriptText result{std::string(text), {}};
  Position position;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(begin, end - begin);
    std::string_view trimmed = Trim(line);
    bool interpreter = begin == 0 && line.starts_with("#!");
    bool command = position.at_statement_start() && trimmed.starts_with('.');
    if (command) {
      result.lines.push_back({begin, std::string(trimmed)});
      result.statements.replace(begin, line.size(), std::string(line.size(), ' '));
    } else if (!interpreter) {
      for (size_t i = begin; i < end; ++i) position.Take(text[i], i + 1 < end ? text[i + 1] : '\n');
      position.Take('\n', ' ');
    }
    begin = end + 1;
  }
  return result;
}

std::vector<std::string> SplitWords(std::string_view line) {
  std::vector<std::string> words;
  while (!(line = Trim(line)).empty()) {
    char quote = line.front() == '\'' || line.front() == '"' ? line.front() : '\0';
    size_t begin = quote == '\0' ? 0 : 1;
    size_t end = quote == '\0' ? line.find_first_of(" \t") : line.find(quote, 1);
    words.emplace_back(line.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + begin);
  }
  return words;
}

}  // namespace traind::cli
