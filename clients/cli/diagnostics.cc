// Shape of the text:
//
//   night.tql:3:15: SYNTAX: unexpected FORM
//     TRAIN MODEL m FORM d
//                   ^
//     expected: FROM, AS
//     hint: did you mean FROM?
#include "clients/cli/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>

#include "clients/cli/text.h"

namespace traind::cli {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr size_t kMostExpected = 24;  // more than these are not helpful

constexpr std::string_view kRed = "\x1b[1;31m", kDim = "\x1b[2m", kPlain = "\x1b[0m";

std::string_view LineOf(std::string_view text, int32_t line) {
  for (int32_t i = 1; i < line; ++i) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The bytes before character `column` (from 1).
std::string_view Before(std::string_view line, int32_t column) {
  size_t bytes = 0;
  for (int32_t seen = 1; bytes < line.size() && seen < column; ++seen) {
    do {
      ++bytes;
    } while (bytes < line.size() && (static_cast<unsigned char>(line[bytes]) & 0xC0) == 0x80);
  }
  return line.substr(0, bytes);
}

std::string OneLine(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\t', ' ');
  return Printable(line, false);
}

// The line and a mark below the place; a long line is cut around it.
std::string Excerpt(std::string_view line, int32_t column, int width) {
  std::string before = OneLine(Before(line, column));
  std::string after = OneLine(line.substr(Before(line, column).size()));
  int room = std::max(width - static_cast<int>(kIndent.size()) - 1, 30);
  int most_before = room * 2 / 3;
  if (DisplayWidth(before) > most_before) {
    while (DisplayWidth(before) > most_before - 3) before.erase(0, Before(before, 2).size());
    before.insert(0, "...");
  }
  int left = room - DisplayWidth(before);
  if (DisplayWidth(after) > left) after = std::string(Fit(after, left - 3)) + "...";
  return fmt::format("{}{}{}\n{}{}^\n", kIndent, before, after, kIndent,
                     std::string(static_cast<size_t>(DisplayWidth(before)), ' '));
}

std::string Place(const Diagnostic& diagnostic, const SourceText& source) {
  if (diagnostic.line > 0) {
    return fmt::format("{}:{}:{}: ", source.name.empty() ? "input" : source.name, diagnostic.line,
                       diagnostic.column);
  }
  return source.name.empty() ? "" : source.name + ": ";
}

std::string Join(const std::vector<std::string>& expected) {
  size_t count = std::min(expected.size(), kMostExpected);
  std::string text =
      fmt::format("{}", fmt::join(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(count), ", "));
  return count == expected.size() ? text : text + ", …";
}

}  // namespace

Diagnostic TakeDiagnostic(traind_error* error) {
  Diagnostic diagnostic;
  diagnostic.code = traind_error_code(error);
  diagnostic.name = traind_error_name(error);
  diagnostic.message = traind_error_message(error);
  diagnostic.hint = traind_error_hint(error);
  diagnostic.offset = traind_error_offset(error);
  diagnostic.line = traind_error_line(error);
  diagnostic.column = traind_error_column(error);
  for (int32_t i = 0; i < traind_error_expected_count(error); ++i) {
    diagnostic.expected.emplace_back(traind_error_expected(error, i));
  }
  if (diagnostic.message.empty()) diagnostic.message = traind_errstr(diagnostic.code);
  traind_error_free(error);
  return diagnostic;
}

Diagnostic LastDiagnostic(const void* handle) {
  traind_error* error = nullptr;
  traind_error_get(handle, &error);
  return TakeDiagnostic(error);
}

std::string FormatDiagnostic(const Diagnostic& diagnostic, const SourceText& source,
                             const DiagnosticStyle& style) {
  std::string_view red = style.colour ? kRed : "", dim = style.colour ? kDim : "",
                   plain = style.colour ? kPlain : "";
  std::string text = fmt::format("{}{}{}{}: {}\n", Place(diagnostic, source), red, diagnostic.name, plain,
                                 Printable(diagnostic.message, true));
  std::string_view line = diagnostic.line > 0 ? LineOf(source.text, diagnostic.line) : std::string_view();
  if (!line.empty()) text += Excerpt(line, diagnostic.column, style.width);
  if (!diagnostic.expected.empty()) {
    for (const std::string& part : WrapText("expected: " + Join(diagnostic.expected), style.width - 2)) {
      text += fmt::format("{}{}{}{}\n", kIndent, dim, part, plain);
    }
  }
  if (!diagnostic.hint.empty()) {
    text += fmt::format("{}{}hint: {}{}\n", kIndent, dim, Printable(diagnostic.hint, true), plain);
  }
  return text;
}

}  // namespace traind::cli
