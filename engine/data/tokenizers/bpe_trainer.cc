// Word counts, a heap of pairs that is corrected lazily, and for each pair the words that may hold it.
#include "engine/data/tokenizers/bpe_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/data/tokenizers/byte_alphabet.h"

namespace traind::data {
namespace {

constexpr int64_t kWordOverheadBytes = 96;  // of a word's entry in the table
constexpr int64_t kProgressEvery = 64;

uint64_t KeyOf(TokenId left, TokenId right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

struct KeyHash {
  size_t operator()(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(key ^ key >> 32);
  }
};

struct Pair {
  int64_t count = 0;
  std::vector<uint32_t> words;  // in which it has grown in this round; one may stand here twice
  bool changed = false;         // in this round
};

struct Candidate {
  int64_t count;
  uint64_t key;
  size_t words;  // index of the words where it is to be merged
  // The most frequent first, then the smaller pair.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : key > other.key;
  }
};

class Trainer {
 public:
  Trainer(const WordCounts& counts, const BpeTrainerOptions& options) : options_(options) { Begin(counts); }

  Result<BpeVocabulary> Run() {
    while (std::ssize(vocabulary_.tokens) < options_.vocab_size && !queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      Pair& pair = pairs_[top.key];
      if (top.count != pair.count) {
        // Its count has fallen since; it waits for its turn.
        if (pair.count > 0) queue_.push({pair.count, top.key, top.words});
        continue;
      }
      if (top.count < std::max<int64_t>(1, options_.min_frequency)) break;
      Merge(top);
      if (options_.progress && std::ssize(vocabulary_.merges) % kProgressEvery == 0) {
        TRAIND_TRY(options_.progress(std::ssize(vocabulary_.tokens)));
      }
    }
    KeepLast(&vocabulary_.merges);
    return std::move(vocabulary_);
  }

 private:
  // A pair that was merged more than once, because its tokens were made in several ways, has its last rank.
  static void KeepLast(std::vector<std::pair<TokenId, TokenId>>* merges) {
    std::unordered_map<uint64_t, size_t, KeyHash> last;
    for (size_t i = 0; i < merges->size(); ++i) last[KeyOf((*merges)[i].first, (*merges)[i].second)] = i;
    size_t i = 0;
    std::erase_if(*merges, [&](const auto& merge) { return last[KeyOf(merge.first, merge.second)] != i++; });
  }

  void Begin(const WordCounts& counts) {
    for (const std::string& token : options_.special_tokens) AddToken(token);
    std::array<TokenId, 256> byte_ids{};
    // In the order of their characters, as the alphabet is sorted.
    std::array<int, 256> order{};
    for (int byte = 0; byte < 256; ++byte) order[static_cast<size_t>(byte)] = byte;
    std::ranges::sort(order, {}, [](int byte) { return ByteAlphabet()[static_cast<size_t>(byte)]; });
    for (const int byte : order) {
      byte_ids[static_cast<size_t>(byte)] = AddToken(std::string(1, static_cast<char>(byte)));
    }
    for (const auto& [text, count] : counts.words()) {
      const auto index = static_cast<uint32_t>(words_.size());
      std::vector<TokenId>& word = words_.emplace_back();
      for (const char byte : text) word.push_back(byte_ids[static_cast<unsigned char>(byte)]);
      counts_.push_back(static_cast<int64_t>(count));
      for (size_t i = 0; i + 1 < word.size(); ++i) Count(KeyOf(word[i], word[i + 1]), index, true);
    }
    Queue();
  }

  TokenId AddToken(const std::string& token) {
    const auto [found, is_new] = ids_.emplace(token, static_cast<TokenId>(vocabulary_.tokens.size()));
    if (is_new) vocabulary_.tokens.push_back(token);
    return found->second;
  }

  void Count(uint64_t key, uint32_t word, bool more) {
    Pair& pair = pairs_[key];
    pair.count += more ? counts_[word] : -counts_[word];
    if (!more) return;
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
    if (!pair.changed) changed_.push_back(key);
    pair.changed = true;
  }

  // Pairs that have grown in this round are queued with what they count now.
  void Queue() {
    for (const uint64_t key : changed_) {
      Pair& pair = pairs_[key];
      pair.changed = false;
      positions_.push_back(std::exchange(pair.words, {}));
      if (pair.count > 0) queue_.push({pair.count, key, positions_.size() - 1});
    }
    changed_.clear();
  }

  void Merge(const Candidate& top) {
    const auto left = static_cast<TokenId>(top.key >> 32);
    const auto right = static_cast<TokenId>(top.key & UINT32_MAX);
    const TokenId id = AddToken(vocabulary_.tokens[static_cast<size_t>(left)] +
                                vocabulary_.tokens[static_cast<size_t>(right)]);
    vocabulary_.merges.emplace_back(left, right);
    std::vector<uint32_t> words = std::exchange(positions_[top.words], {});
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (const uint32_t word : words) MergeIn(word, left, right, id);
    Queue();
  }

  // The count of the pair itself stays as it was, as the package leaves it: the pair comes again only if its
  // tokens are made in another way too.
  void MergeIn(uint32_t index, TokenId left, TokenId right, TokenId id) {
    std::vector<TokenId>& word = words_[index];
    size_t out = 0;  // word[0, out) is done
    for (size_t i = 0; i < word.size(); ++out) {
      if (word[i] != left || i + 1 >= word.size() || word[i + 1] != right) {
        word[out] = word[i++];
        continue;
      }
      if (out > 0) {
        Count(KeyOf(word[out - 1], left), index, false);
        Count(KeyOf(word[out - 1], id), index, true);
      }
      i += 2;
      word[out] = id;
      if (i < word.size()) {
        Count(KeyOf(right, word[i]), index, false);
        Count(KeyOf(id, word[i]), index, true);
      }
    }
    word.resize(out);
  }

  const BpeTrainerOptions& options_;
  BpeVocabulary vocabulary_;
  std::unordered_map<std::string, TokenId> ids_;
  std::vector<std::vector<TokenId>> words_;
  std::vector<int64_t> counts_;
  std::unordered_map<uint64_t, Pair, KeyHash> pairs_;
  std::vector<uint64_t> changed_;
  std::vector<std::vector<uint32_t>> positions_;
  std::priority_queue<Candidate> queue_;
};

OrderedJson SpecialToken(const std::string& content, size_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

OrderedJson ByteLevel(bool splits) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", splits}};
}

}  // namespace

Status WordCounts::Add(std::string_view word) {
  key_.assign(word);
  const auto [found, is_new] = words_.try_emplace(key_, 0);
  ++found->second;
  if (!is_new) return Ok();
  // A symbol of each byte, and the word.
  bytes_ += kWordOverheadBytes + 5 * std::ssize(word);
  if (bytes_ <= kMaxTrainerBytes) return Ok();
  return Status(ErrorCode::OUT_OF_MEMORY,
                fmt::format("{} distinct words take more than the {} bytes that training a tokenizer may use",
                            words_.size(), kMaxTrainerBytes),
                "train it on a part of the data");
}

Result<BpeVocabulary> TrainBpe(const WordCounts& counts, const BpeTrainerOptions& options) {
  return Trainer(counts, options).Run();
}

std::string TokenizerJson(const BpeVocabulary& vocabulary, const std::vector<std::string>& special_tokens,
                          std::string_view pattern) {
  OrderedJson root = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  root["added_tokens"] = OrderedJson::array();
  for (size_t id = 0; id < special_tokens.size(); ++id) {
    root["added_tokens"].push_back(SpecialToken(special_tokens[id], id));
  }
  root["normalizer"] = nullptr;
  root["pre_tokenizer"] = ByteLevel(pattern.empty());
  if (!pattern.empty()) {
    OrderedJson split = {{"type", "Split"}, {"behavior", "Isolated"}, {"invert", false}};
    split["pattern"] = {{"Regex", pattern}};
    root["pre_tokenizer"] = {{"type", "Sequence"}};
    root["pre_tokenizer"]["pretokenizers"] = OrderedJson::array({std::move(split), ByteLevel(false)});
  }
  root["post_processor"] = nullptr;
  root["decoder"] = ByteLevel(true);
  OrderedJson model = {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", false}};
  std::vector<std::string> names;
  for (const std::string& token : vocabulary.tokens) {
    names.push_back(names.size() < special_tokens.size() ? token : ToByteAlphabet(token));
  }
  // An ordered object looks each new key up among all before; the map of the other kind does not.
  Json vocab = Json::object();
  for (size_t id = 0; id < names.size(); ++id) vocab[names[id]] = id;
  Json merges = Json::array();
  for (const auto& [left, right] : vocabulary.merges) {
    merges.push_back({names[static_cast<size_t>(left)], names[static_cast<size_t>(right)]});
  }
  root["model"] = std::move(model);
  std::string text = DumpJson(root, -1);
  text.resize(text.size() - 2);  // of model and of the file
  return text + R"(,"vocab":)" + DumpJson(vocab) + R"(,"merges":)" + DumpJson(merges) + "}}\n";
}

}  // namespace traind::data
