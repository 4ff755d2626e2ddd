// GPT-2's alphabet: a printable character for every byte, in which byte-level vocabularies are written.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace traind::data {

// The character of each byte: itself where it is printable in Latin-1, else one from U+0100 on.
const std::array<char32_t, 256>& ByteAlphabet();

// The bytes that `token` stands for; nothing if a character is not of the alphabet. `token` is UTF-8.
std::optional<std::string> FromByteAlphabet(std::string_view token);
std::string ToByteAlphabet(std::string_view bytes);

}  // namespace traind::data
