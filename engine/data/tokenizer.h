// The byte tokenizer: a token is a byte, and byte 0, which no text holds, is end-of-text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace traind::data {

using Token = uint16_t;

inline constexpr std::string_view kByteTokenizer = "bytes";
inline constexpr int64_t kByteTokenizerVersion = 1;
inline constexpr Token kEndOfText = 0;

// `tokens` has text.size() elements.
inline void EncodeBytes(std::string_view text, std::span<Token> tokens) {
  for (size_t i = 0; i < text.size(); ++i) tokens[i] = static_cast<unsigned char>(text[i]);
}

}  // namespace traind::data
