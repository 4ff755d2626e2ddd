// Escapes, filled lines, paragraphs and displays.
#include "man/mdoc.h"

#include <algorithm>
#include <utility>

namespace traind::manual {
namespace {

constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"\\", "\\e"},  {"…", "..."},   {"×", "\\(mu"}, {"≤", "\\(<="},
    {"≥", "\\(>="}, {"–", "\\(en"}, {"→", "\\(->"},
};

std::string Spell(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto* row =
        std::ranges::find_if(kSpellings, [&](const auto& r) { return text.starts_with(r.first); });
    const bool found = row != std::end(kSpellings);
    out += found ? row->second : text.substr(0, 1);
    text.remove_prefix(found ? row->first.size() : 1);
  }
  return out;
}

// A line that begins with a dot or a single quote would be a request.
std::string ProtectLines(std::string_view text) {
  std::string out;
  bool begin = true;
  for (const char c : text) {
    if (begin && (c == '.' || c == '\'')) out += "\\&";
    out += c;
    begin = c == '\n';
  }
  return out;
}

bool EndsSentence(std::string_view word) {
  while (word.ends_with(')') || word.ends_with('"')) word.remove_suffix(1);
  return word.ends_with('.') && !word.ends_with("..");
}

// Lines of at most kColumns, each sentence beginning a new one, as roff wants its input.
std::string FillLines(std::string_view text) {
  constexpr size_t kColumns = 78;
  std::string out;
  size_t column = 0;
  bool sentence_ended = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (column > 0) {
      const bool new_line = sentence_ended || column + 1 + word.size() > kColumns;
      out += new_line ? '\n' : ' ';
      column = new_line ? 0 : column + 1;
    }
    out += word;
    column += word.size();
    sentence_ended = EndsSentence(word);
  }
  return out;
}

}  // namespace

std::string Prose(std::string_view text) {
  return ProtectLines(FillLines(Spell(text)));
}

std::string Paragraphs(std::string_view text) {
  std::string out;
  while (true) {
    const size_t end = text.find("\n\n");
    out += Prose(text.substr(0, end)) + "\n";
    if (end == std::string_view::npos) return out;
    out += ".Pp\n";
    text.remove_prefix(end + 2);
  }
}

std::string Argument(std::string_view text) {
  std::string out = "\"";
  for (const char c : Spell(text)) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string Display(std::string_view text) {
  std::string literal;
  for (const char c : Spell(text)) literal += c == '-' ? "\\-" : std::string(1, c);
  return ".Bd -literal -offset indent\n" + ProtectLines(literal) + "\n.Ed\n";
}

}  // namespace traind::manual
