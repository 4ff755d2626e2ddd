// Code points and UTF-8, for tokenizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace traind::data {

// The bytes of the well-formed character that text[at] begins.
inline size_t CharacterBytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

// The code point of that character.
char32_t CodePointAt(std::string_view text, size_t at);
void AppendCodePoint(char32_t code, std::string* text);

struct Utf8Prefix {
  size_t valid = 0;         // bytes at the beginning that are well-formed UTF-8
  bool unfinished = false;  // what follows them is the beginning of a character that the text's end cuts
};
// Strict, as engine/data/text_validator.h; a NUL is a character like others.
Utf8Prefix ValidUtf8Prefix(std::string_view text);

}  // namespace traind::data
