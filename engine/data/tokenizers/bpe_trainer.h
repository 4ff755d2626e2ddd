// Learns a byte-level BPE vocabulary: the pairs of symbols that are most frequent in the words of a text,
// merged one after the other.
//
// The same words and settings give the same merges, in whatever order the words came: ties are broken as the
// `tokenizers` package does, by the smaller pair of ids. Words are counted once each, so that a merge touches
// only the distinct words that hold its pair.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/tokenizer.h"

namespace traind::data {

// Distinct words and how often each came.
class WordCounts {
 public:
  // OUT_OF_MEMORY, naming the limit, when the distinct words take more than kMaxTrainerBytes.
  Status Add(std::string_view word);
  const std::unordered_map<std::string, uint64_t>& words() const { return words_; }

 private:
  std::string key_;
  std::unordered_map<std::string, uint64_t> words_;
  int64_t bytes_ = 0;
};

struct BpeVocabulary {
  std::vector<std::string> tokens;  // by id, as bytes: specials, the 256 bytes, then merges
  std::vector<std::pair<TokenId, TokenId>> merges;
};

struct BpeTrainerOptions {
  int64_t vocab_size = 0;     // at most; fewer if nothing is left to merge
  int64_t min_frequency = 2;  // of a pair
  std::vector<std::string> special_tokens;
  // Told the size now and then; another Status than OK ends the training with it.
  std::function<Status(int64_t tokens)> progress;
};

Result<BpeVocabulary> TrainBpe(const WordCounts& counts, const BpeTrainerOptions& options);

// A tokenizer.json of this vocabulary that splits by `pattern` (empty: GPT-2's, by ByteLevel itself).
std::string TokenizerJson(const BpeVocabulary& vocabulary, const std::vector<std::string>& special_tokens,
                          std::string_view pattern);

}  // namespace traind::data
