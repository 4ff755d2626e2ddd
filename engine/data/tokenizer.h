// Tokenizers: documents to token ids and back, whatever the vocabulary is made of.
//
// A tokenizer is immutable and may be used by several threads; an encoder belongs to one document at a time.
// Special tokens that a document spells out ("<|endoftext|>") are recognised, as Hugging Face's tokenizers
// do; none is added. Byte tokenizers and byte-level BPE are defined on any bytes: decoding gives back what
// was encoded (after the tokenizer's own normalisation).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"

namespace traind::data {

// An id as tokenizers and models use it, below vocab_size.
using TokenId = int32_t;

// As token caches keep the byte tokenizer's.
using Token = uint16_t;

inline constexpr std::string_view kByteTokenizer = "bytes";
inline constexpr int64_t kByteTokenizerVersion = 1;
inline constexpr Token kEndOfText = 0;  // of the byte tokenizer

// Encodes documents, each in pieces of any size, holding back no more than the words at the end that later
// bytes may still change. Ids come in order and are appended. After an error the encoder is spent.
class DocumentEncoder {
 public:
  virtual ~DocumentEncoder() = default;
  virtual Status Append(std::string_view bytes, std::vector<TokenId>* ids) = 0;
  // The rest of the document; the encoder then stands before the next one.
  virtual Status Finish(std::vector<TokenId>* ids) = 0;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Every id is below it: the largest id of vocabulary and added tokens, plus one.
  virtual int64_t vocab_size() const = 0;
  // Stands between documents, and ends a generated one.
  virtual TokenId end_of_text() const = 0;
  // Made of everything that decides about ids: two tokenizers with equal keys give equal ids.
  virtual const std::string& key() const = 0;
  // Whether a NUL in a document would be taken for end-of-text.
  virtual bool nul_is_end_of_text() const { return false; }
  // What its template puts before a text (Llama 3's <|begin_of_text|>): for prompts, not for training data.
  virtual std::span<const TokenId> prefix() const { return {}; }

  virtual std::unique_ptr<DocumentEncoder> NewEncoder() const = 0;
  // One whole document, appended.
  Status Encode(std::string_view document, std::vector<TokenId>* ids) const;

  // The bytes that a token adds to a text, which need not be whole characters; empty for an id that is not in
  // the vocabulary.
  virtual std::string BytesOf(TokenId id) const = 0;
  virtual bool IsSpecial(TokenId id) const = 0;
  // The bytes of a text that begins with these ids.
  virtual std::string Decode(std::span<const TokenId> ids) const;
};

// The tokenizer that a task names: "bytes" or empty; else the path of a tokenizer.json, of a SentencePiece
// model (*.model), or of a directory that holds tokenizer.json or tokenizer.model (in this order).
// FILE_NOT_FOUND if the directory holds neither; DAMAGED_TOKENIZER naming file, place and what was expected.
Result<std::unique_ptr<Tokenizer>> OpenTokenizer(Io& io, const std::string& where);

std::unique_ptr<Tokenizer> MakeByteTokenizer();

// How many bytes at the beginning of `text` are safe to show: all but a character whose end is still missing.
size_t CompleteUtf8(std::string_view text);

// `tokens` has text.size() elements.
inline void EncodeBytes(std::string_view text, std::span<Token> tokens) {
  for (size_t i = 0; i < text.size(); ++i) tokens[i] = static_cast<unsigned char>(text[i]);
}

}  // namespace traind::data
