// Widths come from the C library's tables in its UTF-8 locale, whatever the user's locale is.
#include "clients/cli/text.h"

#include <fmt/format.h>
#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <numeric>

namespace traind::cli {
namespace {

struct Character {
  char32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

Character Decode(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1, true};
  size_t count = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < count) return {};
  char32_t code = byte(0) & (0xFFU >> (count + 1));
  for (size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[count] || code > 0x10FFFF || surrogate) return {};
  return {code, count, true};
}

int WidthOf(char32_t code) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  locale_t before = utf8 == nullptr ? nullptr : uselocale(utf8);
  int width = wcwidth(static_cast<wchar_t>(code));
  if (before != nullptr) uselocale(before);
  return std::max(width, 0);
}

bool IsControl(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);  // and what turns text round
}

std::string Escape(char32_t code) {
  if (code == '\t') return "\\t";
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  return code < 0x100 ? fmt::format("\\x{:02x}", static_cast<uint32_t>(code))
                      : fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
}

// One line's pieces of at most `width`.
void WrapLine(std::string_view line, int width, std::vector<std::string>* out) {
  while (width > 0 && DisplayWidth(line) > width) {
    std::string_view piece = Fit(line, width);
    if (piece.empty()) piece = line.substr(0, Decode(line).bytes);
    size_t blank = piece.rfind(' ');
    bool at_blank = line.size() > piece.size() && line[piece.size()] != ' ' &&
                    blank != std::string_view::npos && blank > 0;
    if (at_blank) piece = piece.substr(0, blank);
    out->emplace_back(piece);
    line.remove_prefix(piece.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line.empty()) return;
  }
  out->emplace_back(line);
}

// Edits (insert, delete, replace) from one word to the other, case ignored.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      bool same = tolower(static_cast<unsigned char>(a[i])) == tolower(static_cast<unsigned char>(b[j]));
      size_t best = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = row[j + 1];
      row[j + 1] = best;
    }
  }
  return row[b.size()];
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    Character character = Decode(text);
    width += !character.valid ? 1 : character.code < 0x7F ? 1 : WidthOf(character.code);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string Printable(std::string_view text, bool keep_newlines) {
  std::string out;
  while (!text.empty()) {
    Character character = Decode(text);
    if (!character.valid)
      out += "\xEF\xBF\xBD";
    else if (character.code == '\n' && keep_newlines)
      out += '\n';
    else if (IsControl(character.code))
      out += Escape(character.code);
    else
      out += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  return out;
}

std::string Pad(std::string_view text, int width, bool right_aligned) {
  std::string blanks(static_cast<size_t>(std::max(0, width - DisplayWidth(text))), ' ');
  return right_aligned ? blanks + std::string(text) : std::string(text) + blanks;
}

std::vector<std::string> WrapText(std::string_view text, int width) {
  std::vector<std::string> lines;
  while (true) {
    size_t end = text.find('\n');
    WrapLine(text.substr(0, end), width, &lines);
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string_view Fit(std::string_view text, int width) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    Character character = Decode(text.substr(bytes));
    width -= character.valid && character.code >= 0x7F ? WidthOf(character.code) : 1;
    if (width < 0) break;
    bytes += character.bytes;
  }
  return text.substr(0, bytes);
}

std::string_view Nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  size_t best_distance = word.size() / 2 + 1;
  for (std::string_view candidate : known) {
    size_t distance = Distance(word, candidate);
    if (candidate.starts_with(word) && !word.empty()) distance = 0;
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace traind::cli
