// A trie over the tokens' contents, tried where a first byte fits.
#include "engine/data/tokenizers/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "engine/data/tokenizers/utf8.h"

namespace traind::data {
namespace {

bool IsSpace(char32_t code) {
  return (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

bool IsWord(char32_t code) {
  if (code < 0x80)
    return (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z') || code == '_';
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

size_t CharacterBefore(std::string_view text, size_t at) {
  do {
    --at;
  } while ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  return at;
}

bool TouchesWord(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 && IsWord(CodePointAt(text, CharacterBefore(text, begin)))) return true;
  return end < text.size() && IsWord(CodePointAt(text, end));
}

}  // namespace

TokenFinder::TokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)), nodes_(1) {
  int first_bytes = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    int32_t node = 0;
    for (const char c : token.content) {
      const auto byte = static_cast<unsigned char>(c);
      int32_t child = Child(node, byte);
      if (child < 0) {
        child = static_cast<int32_t>(nodes_.size());
        nodes_[static_cast<size_t>(node)].next.emplace_back(byte, child);
        nodes_.emplace_back();
      }
      node = child;
    }
    nodes_[static_cast<size_t>(node)].token = static_cast<int32_t>(i);
    const auto first = static_cast<unsigned char>(token.content[0]);
    if (!first_bytes_[first]) ++first_bytes;
    first_bytes_[first] = true;
    only_first_byte_ = first_bytes == 1 ? first : -1;
    longest_ = std::max(longest_, token.content.size());
    looks_around_ = looks_around_ || token.single_word || token.strip_left || token.strip_right;
  }
}

int32_t TokenFinder::Child(int32_t node, unsigned char byte) const {
  for (const auto& [edge, child] : nodes_[static_cast<size_t>(node)].next) {
    if (edge == byte) return child;
  }
  return -1;
}

int32_t TokenFinder::LongestAt(std::string_view text, size_t at) const {
  int32_t longest = -1;
  int32_t node = 0;
  for (; at < text.size(); ++at) {
    node = Child(node, static_cast<unsigned char>(text[at]));
    if (node < 0) break;
    if (nodes_[static_cast<size_t>(node)].token >= 0) longest = nodes_[static_cast<size_t>(node)].token;
  }
  return longest;
}

size_t TokenFinder::NextCandidate(std::string_view text, size_t from, size_t limit) const {
  if (only_first_byte_ >= 0) {
    if (from >= limit) return limit;
    const void* found = std::memchr(text.data() + from, only_first_byte_, limit - from);
    return found == nullptr ? limit : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (from < limit && !first_bytes_[static_cast<unsigned char>(text[from])]) ++from;
  return from;
}

TokenFinder::Match TokenFinder::Find(std::string_view text, size_t from, size_t limit, size_t taken) const {
  for (size_t at = NextCandidate(text, from, limit); at < limit; at = NextCandidate(text, at, limit)) {
    const int32_t index = LongestAt(text, at);
    if (index < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(index)];
    Match match{at, at + token.content.size(), &token};
    at = match.end;
    if (token.single_word && TouchesWord(text, match.begin, match.end)) continue;
    while (token.strip_left && match.begin > taken) {
      const size_t before = CharacterBefore(text, match.begin);
      if (before < taken || !IsSpace(CodePointAt(text, before))) break;
      match.begin = before;
    }
    while (token.strip_right && match.end < text.size() && IsSpace(CodePointAt(text, match.end))) {
      match.end += CharacterBytes(text, match.end);
    }
    return match;
  }
  return {};
}

}  // namespace traind::data
