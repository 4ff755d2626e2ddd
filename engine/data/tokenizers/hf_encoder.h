// Encodes documents as tokenizer.json says, in a chain of stages that each hold back what is not yet sure.
//
//   bytes → valid UTF-8 → raw added tokens → normalizer → normalised added tokens → pre-tokenizer → BPE
//
// A segment is text between added tokens. Bytes that are not UTF-8 end a segment too: a run of them is
// encoded byte by byte (merging among themselves), so that a byte-level tokenizer is defined on any bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/tokenizer.h"
#include "engine/data/tokenizers/added_tokens.h"
#include "engine/data/tokenizers/bpe.h"
#include "engine/data/tokenizers/pre_tokenizer.h"

namespace traind::data {

class HfTokenizer;
struct HfParts;

class HfEncoder : public DocumentEncoder {
 public:
  // The tokenizer outlives it.
  explicit HfEncoder(const HfTokenizer* tokenizer);

  Status Append(std::string_view bytes, std::vector<TokenId>* ids) override;
  Status Finish(std::vector<TokenId>* ids) override;

 private:
  Status TakeBytes(bool last);
  Status TakeInvalid();
  // Each stage takes more text; `last` says that its segment ends with it.
  Status FindRaw(std::string_view text, bool last);
  Status Normalize(std::string_view text, bool last);
  Status FindNormalized(std::string_view text, bool last);
  Status Cut(std::string_view text, bool last);

  // Text between a stage's tokens goes to `next`, tokens go to the ids.
  template <typename Next>
  Status Find(const TokenFinder& finder, std::string* held, std::string_view text, bool last,
              const Next& next);
  Status CheckHeld(const std::string& held) const;

  const HfTokenizer* const tokenizer_;
  const HfParts& parts_;
  PreTokenizer pre_tokenizer_;
  BpeEncoder bpe_;
  std::string bytes_;       // not yet known to be UTF-8
  std::string invalid_;     // a run of bytes that are not
  std::string raw_;         // may hold the beginning of an added token
  std::string unsettled_;   // may change by what comes, before normalisation
  std::string normalized_;  // as raw_
  std::vector<TokenId>* ids_ = nullptr;
};

}  // namespace traind::data
