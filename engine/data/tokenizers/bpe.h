// Byte-pair encoding: words to token ids by merging the pair of lowest rank, leftmost first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/tokenizer.h"

namespace traind::data {

// From a pair of ids to the rank of its merge and the id of the result: open addressing, fixed after filling.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = kNone;
    TokenId id = 0;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit MergeTable(size_t merges = 0);
  // A pair that is there already gets the new merge.
  void Insert(TokenId left, TokenId right, Merge merge);
  // rank kNone if the pair does not merge.
  Merge Find(TokenId left, TokenId right) const {
    const uint64_t key = KeyOf(left, right);
    for (size_t at = Hash(key) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].merge;
      if (slots_[at].key == kFree) return {};
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };
  static uint64_t KeyOf(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  static size_t Hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(key ^ key >> 32);
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

// The vocabulary and rules of a BPE tokenizer. Token strings are as words are: bytes for a byte-level one,
// UTF-8 otherwise.
struct BpeModel {
  bool byte_level = true;
  std::unordered_map<std::string, TokenId> ids;
  MergeTable merges;
  bool ignore_merges = false;         // a word that is a token is that token, whatever merges would give
  bool fuse_unknown = false;          // neighbouring unknown characters are one unknown token
  std::optional<TokenId> unknown;     // absent: unknown characters vanish
  std::array<TokenId, 256> byte_ids;  // byte-level: of each byte; else of <0xXX>, used for unknown characters
  bool byte_fallback = false;

  // -1 for a token that is not there.
  TokenId IdOf(const std::string& token) const;
};

// Encodes words with one model; keeps what it has met. One thread at a time.
class BpeEncoder {
 public:
  explicit BpeEncoder(const BpeModel* model);

  // Appends the ids of a word. Characters are UTF-8, or single bytes if `raw_bytes` (then a model that is not
  // byte-level takes each for an unknown character).
  void Encode(std::string_view word, bool raw_bytes, std::vector<TokenId>* ids);

 private:
  struct Symbol {
    TokenId id;
    int32_t previous;
    int32_t next;
  };
  struct Cached {
    uint32_t text_begin = 0;
    uint32_t ids_begin = 0;
    uint16_t text_bytes = 0;  // 0: a free slot
    uint16_t ids_count = 0;
    uint32_t hash = 0;
  };

  void EncodeNew(std::string_view word, bool raw_bytes, std::vector<TokenId>* ids);
  void Split(std::string_view word, bool raw_bytes);
  void SplitCharacter(std::string_view character, std::optional<TokenId>* unknown);
  void MergeShort();
  void MergeLong();
  void Forget();
  void Remember(std::string_view word, uint32_t hash, const TokenId* ids, size_t count);

  const BpeModel* model_;
  std::vector<TokenId> symbols_;  // of the word at hand
  std::vector<MergeTable::Merge> pairs_;
  std::vector<Symbol> links_;

  std::vector<Cached> cache_;
  size_t cached_ = 0;
  std::string cached_text_;
  std::vector<TokenId> cached_ids_;
};

}  // namespace traind::data
