// UTF-8.
#include "grammar/text.h"

#include <algorithm>

namespace traind::grammar {
namespace {

// Bytes of the valid UTF-8 character at text[0], or 0.
size_t ValidCharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return continues(1) ? 2 : 0;
  if (first < 0xF0) {
    const bool second = continues(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && continues(2) ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const bool second = continues(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
  return second && continues(2) && continues(3) ? 4 : 0;
}

}  // namespace

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = ToUpper(c);
  return upper;
}

size_t ValidUtf8Length(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const size_t length = ValidCharacterLength(text.substr(i));
    if (length == 0) break;
    i += length;
  }
  return i;
}

size_t CharacterLength(std::string_view text, size_t offset) {
  size_t end = offset + 1;
  while (end < text.size() && IsContinuationByte(text[end])) ++end;
  return end - offset;
}

uint32_t CodePointAt(std::string_view text, size_t offset) {
  const size_t length = CharacterLength(text, offset);
  const auto first = static_cast<unsigned char>(text[offset]);
  if (length == 1) return first;
  uint32_t code_point = first & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    code_point = code_point << 6 | (static_cast<unsigned char>(text[offset + i]) & 0x3FU);
  }
  return code_point;
}

int64_t CountCharacters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return !IsContinuationByte(c); });
}

}  // namespace traind::grammar
