// From ids to bytes, and what a tokenizer holds.
#include "engine/data/tokenizers/hf_tokenizer.h"

#include <algorithm>
#include <utility>

#include "engine/data/tokenizers/hf_encoder.h"

namespace traind::data {
namespace {

std::vector<AddedToken> Select(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<AddedToken> selected;
  std::ranges::copy_if(tokens, std::back_inserter(selected),
                       [=](const AddedToken& token) { return token.normalized == normalized; });
  return selected;
}

std::optional<char> FallbackByte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<char>(value);
}

void ReplaceAll(std::string* text, const std::string& from, const std::string& to) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

}  // namespace

HfTokenizer::HfTokenizer(HfParts parts)
    : parts_(std::move(parts)),
      raw_tokens_(Select(parts_.added, false)),
      normalized_tokens_(Select(parts_.added, true)) {}

std::unique_ptr<DocumentEncoder> HfTokenizer::NewEncoder() const {
  return std::make_unique<HfEncoder>(this);
}

std::string HfTokenizer::BytesOf(TokenId id) const {
  if (id < 0 || id >= std::ssize(parts_.tokens)) return {};
  std::string text = parts_.tokens[static_cast<size_t>(id)];
  for (const auto& [from, to] : parts_.decoder.replaced) ReplaceAll(&text, from, to);
  if (parts_.decoder.byte_fallback) {
    if (const auto byte = FallbackByte(text)) return std::string(1, *byte);
  }
  return text;
}

bool HfTokenizer::IsSpecial(TokenId id) const {
  return std::ranges::binary_search(parts_.special, id);
}

std::string HfTokenizer::Decode(std::span<const TokenId> ids) const {
  std::string text = Tokenizer::Decode(ids);
  const std::string& stripped = parts_.decoder.stripped;
  if (!stripped.empty() && text.starts_with(stripped)) text.erase(0, stripped.size());
  return text;
}

}  // namespace traind::data
