// The byte alphabet and its inverse as tables.
#include "engine/data/tokenizers/byte_alphabet.h"

#include <cstdint>

#include "engine/data/tokenizers/utf8.h"

namespace traind::data {
namespace {

constexpr size_t kCharacters = 0x144;  // the largest is U+0143

bool IsPrintable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

std::array<char32_t, 256> MakeAlphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    alphabet[static_cast<size_t>(byte)] = IsPrintable(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return alphabet;
}

std::array<int16_t, kCharacters> MakeInverse() {
  std::array<int16_t, kCharacters> inverse{};
  inverse.fill(-1);
  const auto& alphabet = ByteAlphabet();
  for (size_t byte = 0; byte < alphabet.size(); ++byte) inverse[alphabet[byte]] = static_cast<int16_t>(byte);
  return inverse;
}

}  // namespace

const std::array<char32_t, 256>& ByteAlphabet() {
  static const std::array<char32_t, 256> alphabet = MakeAlphabet();
  return alphabet;
}

std::optional<std::string> FromByteAlphabet(std::string_view token) {
  static const std::array<int16_t, kCharacters> inverse = MakeInverse();
  std::string bytes;
  for (size_t at = 0; at < token.size(); at += CharacterBytes(token, at)) {
    const char32_t code = CodePointAt(token, at);
    if (code >= inverse.size() || inverse[code] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(inverse[code]));
  }
  return bytes;
}

std::string ToByteAlphabet(std::string_view bytes) {
  std::string token;
  for (const char byte : bytes) AppendCodePoint(ByteAlphabet()[static_cast<unsigned char>(byte)], &token);
  return token;
}

}  // namespace traind::data
