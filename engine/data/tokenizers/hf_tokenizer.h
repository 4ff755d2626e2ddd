// A tokenizer as tokenizer.json describes it: added tokens, normalizer, pre-tokenizer, BPE, decoder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/tokenizer.h"
#include "engine/data/tokenizers/added_tokens.h"
#include "engine/data/tokenizers/bpe.h"
#include "engine/data/tokenizers/normalizer.h"
#include "engine/data/tokenizers/pre_tokenizer.h"

namespace traind::data {

// How a token's string becomes bytes of text.
struct Decoder {
  bool byte_fallback = false;                                 // <0xXX> is that byte
  std::vector<std::pair<std::string, std::string>> replaced;  // in every token
  std::string stripped;                                       // one of it, from the text's beginning
};

// All parts, as read.
struct HfParts {
  Normalizer normalizer;
  std::vector<SplitStep> splits;
  BpeModel model;
  std::vector<AddedToken> added;
  std::vector<std::string> tokens;  // by id, as bytes or UTF-8; empty where there is none
  std::vector<TokenId> special;     // sorted
  Decoder decoder;
  std::vector<TokenId> prefix;
  TokenId end_of_text = 0;
  std::string key;
};

class HfTokenizer : public Tokenizer {
 public:
  explicit HfTokenizer(HfParts parts);

  int64_t vocab_size() const override { return std::ssize(parts_.tokens); }
  TokenId end_of_text() const override { return parts_.end_of_text; }
  const std::string& key() const override { return parts_.key; }
  std::span<const TokenId> prefix() const override { return parts_.prefix; }
  std::unique_ptr<DocumentEncoder> NewEncoder() const override;
  std::string BytesOf(TokenId id) const override;
  bool IsSpecial(TokenId id) const override;
  std::string Decode(std::span<const TokenId> ids) const override;

  const HfParts& parts() const { return parts_; }
  const TokenFinder& raw_tokens() const { return raw_tokens_; }
  const TokenFinder& normalized_tokens() const { return normalized_tokens_; }

 private:
  const HfParts parts_;
  const TokenFinder raw_tokens_;
  const TokenFinder normalized_tokens_;
};

// Parses a tokenizer.json. `end_of_text` is the content of the token that ends a text; empty: a well-known
// one
// ("<|endoftext|>", "<|end_of_text|>", "</s>", …). DAMAGED_TOKENIZER says which field is wrong and how.
Result<HfParts> ParseHfTokenizer(std::string_view text, std::string_view end_of_text);

}  // namespace traind::data
