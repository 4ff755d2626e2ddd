// Text on a terminal: widths of characters, padding, wrapping, and making control characters harmless.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace traind::cli {

// Columns that UTF-8 text takes on a terminal. Bytes that are no UTF-8 count as one.
int DisplayWidth(std::string_view text);

// Control characters as they may be shown: "\x1b", "\t"; line feeds too unless `keep_newlines`. Bytes that
// are no UTF-8 become U+FFFD.
std::string Printable(std::string_view text, bool keep_newlines);

// `text` with blanks up to `width`, on the right or (numbers) on the left.
std::string Pad(std::string_view text, int width, bool right_aligned);

// Lines of at most `width` columns: broken at line feeds, then at blanks where possible. At least one line.
// width 0: no limit.
std::vector<std::string> WrapText(std::string_view text, int width);

// As much of the front of `text` as fits into `width` columns.
std::string_view Fit(std::string_view text, int width);

// The word of `known` most like `word`, empty if none is like it.
std::string_view Nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace traind::cli
