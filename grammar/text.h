// Characters: ASCII case, and UTF-8 as the language counts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace traind::grammar {

constexpr char ToUpper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
constexpr bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool IsNameCharacter(char c) {
  return IsNameStart(c) || IsDigit(c);
}
constexpr bool IsContinuationByte(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

std::string UpperCase(std::string_view text);

// Bytes of valid UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF) before the first that is
// not.
size_t ValidUtf8Length(std::string_view text);

// In valid UTF-8: the bytes of the character at `offset`, its code point, and how many characters there are.
size_t CharacterLength(std::string_view text, size_t offset);
uint32_t CodePointAt(std::string_view text, size_t offset);
int64_t CountCharacters(std::string_view text);

// A control character (C0, DEL, C1): it may stand in no name, because names are printed.
constexpr bool IsControl(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

}  // namespace traind::grammar
