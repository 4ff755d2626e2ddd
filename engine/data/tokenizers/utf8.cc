// UTF-8 by the Unicode standard's table 3-7, with a fast path for ASCII.
#include "engine/data/tokenizers/utf8.h"

#include <cstring>

namespace traind::data {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080;

unsigned char ByteAt(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// The length of a character by its lead byte, and the bounds of its second byte; 0 for no lead byte.
struct Lead {
  size_t bytes;
  unsigned char low, high;
};
Lead LeadOf(unsigned char byte) {
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

// How many bytes from `at` on are as the lead byte wants them; `at` + that may be the text's end.
size_t GoodBytes(std::string_view text, size_t at, const Lead& lead) {
  size_t good = 1;
  for (; good < lead.bytes && at + good < text.size(); ++good) {
    const unsigned char byte = ByteAt(text, at + good);
    const bool fits = good == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xc0) == 0x80;
    if (!fits) break;
  }
  return good;
}

}  // namespace

char32_t CodePointAt(std::string_view text, size_t at) {
  const char32_t lead = ByteAt(text, at);
  if (lead < 0x80) return lead;
  const size_t bytes = CharacterBytes(text, at);
  char32_t code = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) code = code << 6 | (ByteAt(text, at + i) & 0x3fu);
  return code;
}

void AppendCodePoint(char32_t code, std::string* text) {
  if (code < 0x80) {
    text->push_back(static_cast<char>(code));
    return;
  }
  const int continuations = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kLeads[] = {0, 0xc0, 0xe0, 0xf0};
  text->push_back(static_cast<char>(kLeads[continuations] | code >> (6 * continuations)));
  for (int i = continuations - 1; i >= 0; --i) {
    text->push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
  }
}

Utf8Prefix ValidUtf8Prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (ByteAt(text, at) < 0x80) {
      uint64_t block = 0;
      while (at + sizeof(block) <= text.size()) {
        std::memcpy(&block, text.data() + at, sizeof(block));
        if ((block & kHighBits) != 0) break;
        at += sizeof(block);
      }
      while (at < text.size() && ByteAt(text, at) < 0x80) ++at;
      continue;
    }
    const Lead lead = LeadOf(ByteAt(text, at));
    if (lead.bytes == 0) return {at, false};
    const size_t good = GoodBytes(text, at, lead);
    if (good < lead.bytes) return {at, at + good == text.size()};
    at += lead.bytes;
  }
  return {at, false};
}

}  // namespace traind::data
