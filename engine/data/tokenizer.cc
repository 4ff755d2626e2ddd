// The byte tokenizer, and what all tokenizers share.
#include "engine/data/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

namespace traind::data {
namespace {

constexpr int64_t kByteValues = 256;

class ByteEncoder : public DocumentEncoder {
 public:
  Status Append(std::string_view bytes, std::vector<TokenId>* ids) override {
    for (const char byte : bytes) ids->push_back(static_cast<unsigned char>(byte));
    return Ok();
  }
  Status Finish(std::vector<TokenId>*) override { return Ok(); }
};

class ByteTokenizer : public Tokenizer {
 public:
  int64_t vocab_size() const override { return kByteValues; }
  TokenId end_of_text() const override { return kEndOfText; }
  const std::string& key() const override { return key_; }
  bool nul_is_end_of_text() const override { return true; }
  std::unique_ptr<DocumentEncoder> NewEncoder() const override { return std::make_unique<ByteEncoder>(); }
  std::string BytesOf(TokenId id) const override {
    return id < 0 || id >= kByteValues ? std::string() : std::string(1, static_cast<char>(id));
  }
  bool IsSpecial(TokenId id) const override { return id == kEndOfText; }

 private:
  const std::string key_ = fmt::format("{} {}", kByteTokenizer, kByteTokenizerVersion);
};

// The bytes of a character that begins with `lead`; 1 for what begins none.
size_t LengthFromLead(unsigned char lead) {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0) return lead < 0xf0 ? 3 : 1;
  return lead >= 0xc2 ? 2 : 1;
}

}  // namespace

Status Tokenizer::Encode(std::string_view document, std::vector<TokenId>* ids) const {
  const std::unique_ptr<DocumentEncoder> encoder = NewEncoder();
  TRAIND_TRY(encoder->Append(document, ids));
  return encoder->Finish(ids);
}

std::string Tokenizer::Decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids) text += BytesOf(id);
  return text;
}

std::unique_ptr<Tokenizer> MakeByteTokenizer() {
  return std::make_unique<ByteTokenizer>();
}

size_t CompleteUtf8(std::string_view text) {
  constexpr size_t kMostMissing = 3;
  for (size_t back = 1; back <= std::min(kMostMissing, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    return LengthFromLead(byte) > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace traind::data
