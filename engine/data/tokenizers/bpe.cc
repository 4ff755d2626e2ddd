// Merging words, and remembering the short ones.
#include "engine/data/tokenizers/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <queue>
#include <utility>

#include "engine/data/tokenizers/utf8.h"

namespace traind::data {
namespace {

constexpr size_t kShortWord = 48;        // symbols up to which the lowest rank is searched for
constexpr size_t kMostCachedBytes = 64;  // of a word that is remembered
constexpr size_t kCacheSlots = 1 << 16;

uint32_t HashOf(std::string_view word) {
  uint64_t hash = word.size() * 0x9e3779b97f4a7c15u;
  size_t at = 0;
  for (; at + 8 <= word.size(); at += 8) {
    uint64_t block = 0;
    std::memcpy(&block, word.data() + at, 8);
    hash = (std::rotl(hash, 29) ^ block) * 0xff51afd7ed558ccdu;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, word.data() + at, word.size() - at);
  hash = (std::rotl(hash, 29) ^ rest) * 0xff51afd7ed558ccdu;
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace

MergeTable::MergeTable(size_t merges)
    : slots_(std::bit_ceil(std::max<size_t>(16, 2 * merges))), mask_(slots_.size() - 1) {}

void MergeTable::Insert(TokenId left, TokenId right, Merge merge) {
  const uint64_t key = KeyOf(left, right);
  size_t at = Hash(key) & mask_;
  while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & mask_;
  slots_[at] = {key, merge};
}

TokenId BpeModel::IdOf(const std::string& token) const {
  const auto found = ids.find(token);
  return found == ids.end() ? -1 : found->second;
}

BpeEncoder::BpeEncoder(const BpeModel* model) : model_(model), cache_(kCacheSlots) {}

void BpeEncoder::Encode(std::string_view word, bool raw_bytes, std::vector<TokenId>* ids) {
  if (word.empty()) return;
  if (raw_bytes || word.size() > kMostCachedBytes) {
    EncodeNew(word, raw_bytes, ids);
    return;
  }
  const uint32_t hash = HashOf(word);
  for (size_t at = hash & (kCacheSlots - 1);; at = (at + 1) & (kCacheSlots - 1)) {
    const Cached& slot = cache_[at];
    if (slot.text_bytes == 0) break;
    if (slot.hash != hash || slot.text_bytes != word.size() ||
        std::memcmp(cached_text_.data() + slot.text_begin, word.data(), word.size()) != 0) {
      continue;
    }
    const auto begin = cached_ids_.begin() + slot.ids_begin;
    ids->insert(ids->end(), begin, begin + slot.ids_count);
    return;
  }
  const size_t before = ids->size();
  EncodeNew(word, raw_bytes, ids);
  Remember(word, hash, ids->data() + before, ids->size() - before);
}

void BpeEncoder::Remember(std::string_view word, uint32_t hash, const TokenId* ids, size_t count) {
  if (cached_ >= kCacheSlots / 2) Forget();
  size_t at = hash & (kCacheSlots - 1);
  while (cache_[at].text_bytes != 0) at = (at + 1) & (kCacheSlots - 1);
  cache_[at] = {static_cast<uint32_t>(cached_text_.size()), static_cast<uint32_t>(cached_ids_.size()),
                static_cast<uint16_t>(word.size()), static_cast<uint16_t>(count), hash};
  cached_text_ += word;
  cached_ids_.insert(cached_ids_.end(), ids, ids + count);
  ++cached_;
}

void BpeEncoder::Forget() {
  std::fill(cache_.begin(), cache_.end(), Cached{});
  cached_text_.clear();
  cached_ids_.clear();
  cached_ = 0;
}

void BpeEncoder::EncodeNew(std::string_view word, bool raw_bytes, std::vector<TokenId>* ids) {
  if (model_->ignore_merges) {
    const TokenId whole = model_->IdOf(std::string(word));
    if (whole >= 0) {
      ids->push_back(whole);
      return;
    }
  }
  Split(word, raw_bytes);
  if (symbols_.size() > kShortWord) {
    MergeLong();
  } else {
    MergeShort();
  }
  ids->insert(ids->end(), symbols_.begin(), symbols_.end());
}

// The symbols that a word begins as.
void BpeEncoder::Split(std::string_view word, bool raw_bytes) {
  symbols_.clear();
  std::optional<TokenId> unknown;  // seen, not yet added: others may join it
  if (model_->byte_level) {
    for (const char byte : word) {
      const TokenId id = model_->byte_ids[static_cast<unsigned char>(byte)];
      if (id >= 0) {
        if (unknown) symbols_.push_back(*std::exchange(unknown, std::nullopt));
        symbols_.push_back(id);
      } else if (model_->unknown) {
        if (unknown && !model_->fuse_unknown) symbols_.push_back(*unknown);
        unknown = model_->unknown;
      }
    }
  } else {
    for (size_t at = 0; at < word.size();) {
      const size_t bytes = raw_bytes ? 1 : CharacterBytes(word, at);
      SplitCharacter(word.substr(at, bytes), &unknown);
      at += bytes;
    }
  }
  if (unknown) symbols_.push_back(*unknown);
}

void BpeEncoder::SplitCharacter(std::string_view character, std::optional<TokenId>* unknown) {
  const TokenId id = model_->IdOf(std::string(character));
  if (id >= 0) {
    if (*unknown) symbols_.push_back(*std::exchange(*unknown, std::nullopt));
    symbols_.push_back(id);
    return;
  }
  const auto id_of = [this](char byte) { return model_->byte_ids[static_cast<unsigned char>(byte)]; };
  if (model_->byte_fallback && std::ranges::all_of(character, [&](char byte) { return id_of(byte) >= 0; })) {
    // An unknown character before it still waits: the package adds it behind these bytes, and so do we.
    for (const char byte : character) symbols_.push_back(id_of(byte));
    return;
  }
  if (!model_->unknown) return;
  if (*unknown && !model_->fuse_unknown) symbols_.push_back(**unknown);
  *unknown = model_->unknown;
}

void BpeEncoder::MergeShort() {
  const MergeTable& merges = model_->merges;
  pairs_.clear();
  for (size_t i = 0; i + 1 < symbols_.size(); ++i)
    pairs_.push_back(merges.Find(symbols_[i], symbols_[i + 1]));
  while (!pairs_.empty()) {
    size_t best = 0;
    for (size_t i = 1; i < pairs_.size(); ++i) {
      if (pairs_[i].rank < pairs_[best].rank) best = i;
    }
    if (pairs_[best].rank == MergeTable::kNone) return;
    symbols_[best] = pairs_[best].id;
    symbols_.erase(symbols_.begin() + static_cast<ptrdiff_t>(best) + 1);
    pairs_.erase(pairs_.begin() + static_cast<ptrdiff_t>(best));
    if (best > 0) pairs_[best - 1] = merges.Find(symbols_[best - 1], symbols_[best]);
    if (best < pairs_.size()) pairs_[best] = merges.Find(symbols_[best], symbols_[best + 1]);
  }
}

// The same with a heap, so that a long word costs n log n.
void BpeEncoder::MergeLong() {
  struct Candidate {
    uint32_t rank;
    int32_t at;
    TokenId id;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](int32_t at) {
    if (at < 0 || links_[static_cast<size_t>(at)].next < 0) return;
    const Symbol& left = links_[static_cast<size_t>(at)];
    const auto merge = model_->merges.Find(left.id, links_[static_cast<size_t>(left.next)].id);
    if (merge.rank != MergeTable::kNone) queue.push({merge.rank, at, merge.id});
  };
  constexpr TokenId kGone = -1;
  const auto count = static_cast<int32_t>(symbols_.size());
  links_.clear();
  for (int32_t i = 0; i < count; ++i) {
    links_.push_back({symbols_[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  }
  for (int32_t i = 0; i + 1 < count; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = links_[static_cast<size_t>(top.at)];
    if (left.id == kGone || left.next < 0) continue;
    Symbol& right = links_[static_cast<size_t>(left.next)];
    // Out of date, unless the pair that stands there now merges into the same.
    const auto now = model_->merges.Find(left.id, right.id);
    if (now.rank == MergeTable::kNone || now.id != top.id) continue;
    left.id = top.id;
    left.next = right.next;
    right.id = kGone;
    if (left.next >= 0) links_[static_cast<size_t>(left.next)].previous = top.at;
    offer(left.previous);
    offer(top.at);
  }
  symbols_.clear();
  for (int32_t at = count > 0 ? 0 : -1; at >= 0; at = links_[static_cast<size_t>(at)].next) {
    symbols_.push_back(links_[static_cast<size_t>(at)].id);
  }
}

}  // namespace traind::data
