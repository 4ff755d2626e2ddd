// Reads tokenizer.json. Sizes are checked before what they describe is made.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/json.h"
#include "engine/data/tokenizers/byte_alphabet.h"
#include "engine/data/tokenizers/hf_fields.h"
#include "engine/data/tokenizers/hf_tokenizer.h"

namespace traind::data {
namespace {

// Ids need not be dense, but their number decides about memory.
constexpr int64_t kMostUnusedIds = 65536;
constexpr std::array<std::string_view, 8> kEndsOfText = {
    "<|endoftext|>", "<|end_of_text|>", "<|end▁of▁sentence|>", "<｜end▁of▁sentence｜>",
    "</s>",          "<eos>",           "<|eot_id|>",          "<|im_end|>"};

class HfParser {
 public:
  HfParser(const Json& root, std::string_view end_of_text) : root_(root), end_of_text_(end_of_text) {}

  Result<HfParts> Run() {
    if (!root_.is_object()) return Wrong("", "an object", root_);
    TRAIND_ASSIGN(parts_.normalizer, ParseNormalizer(FieldOf(root_, "normalizer")));
    TRAIND_ASSIGN(PreTokenizerParts split, ParsePreTokenizer(FieldOf(root_, "pre_tokenizer")));
    parts_.splits = std::move(split.steps);
    parts_.model.byte_level = split.byte_level;
    TRAIND_ASSIGN(parts_.decoder, ParseDecoder(FieldOf(root_, "decoder")));
    TRAIND_TRY(ReadAdded());
    TRAIND_TRY(ReadVocabulary());
    TRAIND_TRY(PlaceAdded());
    TRAIND_TRY(ReadMerges());
    TRAIND_TRY(ReadModelOptions());
    TRAIND_TRY(ReadPrefix());
    TRAIND_TRY(FindEndOfText());
    return std::move(parts_);
  }

 private:
  const Json& model() const { return FieldOf(root_, "model"); }

  Status ReadAdded() {
    const Json& list = FieldOf(root_, "added_tokens");
    if (list.is_null()) return Ok();
    if (!list.is_array()) return Wrong("added_tokens", "a list", list);
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string path = fmt::format("added_tokens[{}]", i);
      const Json& item = list[i];
      if (!item.is_object()) return Wrong(path, "an object", item);
      AddedToken token;
      TRAIND_ASSIGN(token.id, IdField(item, "id", path));
      TRAIND_ASSIGN(token.content, StringField(item, "content", path));
      TRAIND_ASSIGN(token.special, FlagField(item, "special", path, false));
      TRAIND_ASSIGN(token.normalized, FlagField(item, "normalized", path, !token.special));
      TRAIND_ASSIGN(token.single_word, FlagField(item, "single_word", path, false));
      TRAIND_ASSIGN(token.strip_left, FlagField(item, "lstrip", path, false));
      TRAIND_ASSIGN(token.strip_right, FlagField(item, "rstrip", path, false));
      if (token.content.empty()) return Malformed(fmt::format("{}.content", path), "is empty");
      parts_.added.push_back(std::move(token));
    }
    return Ok();
  }

  Status ReadVocabulary() {
    if (!model().is_object()) return Wrong("model", "an object", model());
    // Old files have no type.
    TRAIND_ASSIGN(const std::string type, TypeOf(model(), "model", "BPE"));
    if (type != "BPE") {
      return Status(ErrorCode::DAMAGED_TOKENIZER, fmt::format("model.type is '{}'; BPE can be used", type),
                    "take the SentencePiece file (tokenizer.model) of such a model");
    }
    const Json& vocab = FieldOf(model(), "vocab");
    if (!vocab.is_object()) return Wrong("model.vocab", "an object of token → id", vocab);
    const int64_t tokens = std::ssize(vocab) + std::ssize(parts_.added);
    if (tokens > kMaxTokenizerTokens) {
      return Malformed("model.vocab",
                       fmt::format("has {} tokens; the limit is {}", tokens, kMaxTokenizerTokens));
    }
    TRAIND_TRY(CheckIds(vocab, tokens + kMostUnusedIds));
    parts_.tokens.resize(static_cast<size_t>(largest_id_ + 1));
    used_.resize(parts_.tokens.size());
    parts_.model.ids.reserve(vocab.size());
    for (const auto& [token, id] : vocab.items()) {
      TRAIND_TRY(Place(id.get<TokenId>(), token, "model.vocab"));
      by_name_.emplace(token, id.get<TokenId>());
      if (!parts_.model.byte_level) {
        parts_.model.ids.emplace(token, id.get<TokenId>());
        continue;
      }
      if (auto bytes = FromByteAlphabet(token)) {
        parts_.tokens[id.get<size_t>()] = *bytes;
        parts_.model.ids.emplace(*std::move(bytes), id.get<TokenId>());
      }
    }
    return Ok();
  }

  Status CheckIds(const Json& vocab, int64_t limit) {
    const auto check = [&](int64_t id, std::string_view token, std::string_view path) {
      largest_id_ = std::max(largest_id_, id);
      if (id < limit) return Ok();
      return Malformed(path, fmt::format("gives '{}' the id {}; with this many tokens ids must be below {}",
                                         token, id, limit));
    };
    for (const auto& [token, id] : vocab.items()) {
      if (!id.is_number_unsigned())
        return Wrong(fmt::format("model.vocab['{}']", token), "an id, 0 or more", id);
      const auto value = id.get<uint64_t>();
      TRAIND_TRY(check(value > INT32_MAX ? INT64_MAX : static_cast<int64_t>(value), token, "model.vocab"));
    }
    for (const AddedToken& token : parts_.added) TRAIND_TRY(check(token.id, token.content, "added_tokens"));
    if (largest_id_ < 0) return Malformed("model.vocab", "is empty");
    return Ok();
  }

  Status Place(TokenId id, const std::string& token, std::string_view path) {
    const auto at = static_cast<size_t>(id);
    if (used_[at]) {
      return Malformed(path, fmt::format("gives id {} to '{}' and to '{}'", id, parts_.tokens[at], token));
    }
    used_[at] = true;
    parts_.tokens[at] = token;
    return Ok();
  }

  Status PlaceAdded() {
    std::set<std::string_view> contents;
    for (size_t i = 0; i < parts_.added.size(); ++i) {
      AddedToken& token = parts_.added[i];
      const std::string path = fmt::format("added_tokens[{}]", i);
      if (!contents.insert(token.content).second) {
        return Malformed(path, fmt::format("'{}' is there already", token.content));
      }
      const auto known = by_name_.find(token.content);
      if (known == by_name_.end()) {
        TRAIND_TRY(Place(token.id, token.content, path));
        by_name_.emplace(token.content, token.id);
      } else if (known->second != token.id) {
        return Malformed(path, fmt::format("gives '{}' the id {}; in model.vocab it is {}", token.content,
                                           token.id, known->second));
      }
      parts_.tokens[static_cast<size_t>(token.id)] = token.content;
      if (token.special) parts_.special.push_back(token.id);
    }
    std::ranges::sort(parts_.special);
    return NormalizeAdded();
  }

  // They are looked for as the normalizer leaves them.
  Status NormalizeAdded() {
    for (AddedToken& token : parts_.added) {
      if (!token.normalized) continue;
      TRAIND_ASSIGN(std::string content, parts_.normalizer.Apply(token.content));
      if (!content.empty()) token.content = std::move(content);
    }
    return Ok();
  }

  Status ReadMerges() {
    const Json& merges = FieldOf(model(), "merges");
    if (!merges.is_array()) return Wrong("model.merges", "a list", merges);
    if (std::ssize(merges) > kMaxTokenizerTokens) {
      return Malformed("model.merges",
                       fmt::format("has {} merges; the limit is {}", merges.size(), kMaxTokenizerTokens));
    }
    parts_.model.merges = MergeTable(merges.size());
    for (size_t i = 0; i < merges.size(); ++i) {
      const std::string path = fmt::format("model.merges[{}]", i);
      std::string left;
      std::string right;
      TRAIND_TRY(SplitMerge(merges[i], path, &left, &right));
      TRAIND_ASSIGN(const TokenId left_id, Named(left, path));
      TRAIND_ASSIGN(const TokenId right_id, Named(right, path));
      TRAIND_ASSIGN(const TokenId id, Named(left + right, path));
      parts_.model.merges.Insert(left_id, right_id, {static_cast<uint32_t>(i), id});
    }
    return Ok();
  }

  // ["a", "b"], or "a b" in older files.
  static Status SplitMerge(const Json& merge, const std::string& path, std::string* left,
                           std::string* right) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      *left = merge[0].get<std::string>();
      *right = merge[1].get<std::string>();
      return Ok();
    }
    if (!merge.is_string()) return Wrong(path, "two tokens", merge);
    const auto text = merge.get<std::string>();
    const size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      return Malformed(path, fmt::format("is '{}'; two tokens with one space between them are needed", text));
    }
    *left = text.substr(0, space);
    *right = text.substr(space + 1);
    return Ok();
  }

  Result<TokenId> Named(const std::string& token, const std::string& path) const {
    const auto found = by_name_.find(token);
    if (found != by_name_.end()) return found->second;
    return Malformed(path, fmt::format("names '{}', which is not in model.vocab", token));
  }

  Status ReadModelOptions() {
    BpeModel& bpe = parts_.model;
    const Json& object = model();
    TRAIND_ASSIGN(bpe.ignore_merges, FlagField(object, "ignore_merges", "model", false));
    TRAIND_ASSIGN(bpe.fuse_unknown, FlagField(object, "fuse_unk", "model", false));
    TRAIND_ASSIGN(bpe.byte_fallback, FlagField(object, "byte_fallback", "model", false));
    if (const Json& dropout = FieldOf(object, "dropout"); !dropout.is_null() && dropout != 0.0) {
      return Malformed("model.dropout", "is set; ids must not be left to chance, so it must be null");
    }
    for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& affix = FieldOf(object, field);
      if (affix.is_null() || affix == "") continue;
      return Malformed(fmt::format("model.{}", field), "is not empty; only BPE without it can be used");
    }
    if (const Json& unknown = FieldOf(object, "unk_token"); !unknown.is_null()) {
      if (!unknown.is_string()) return Wrong("model.unk_token", "a string or null", unknown);
      TRAIND_ASSIGN(bpe.unknown, Named(unknown.get<std::string>(), "model.unk_token"));
    }
    for (size_t byte = 0; byte < bpe.byte_ids.size(); ++byte) {
      bpe.byte_ids[byte] = bpe.byte_level ? bpe.IdOf(std::string(1, static_cast<char>(byte)))
                                          : bpe.IdOf(fmt::format("<0x{:02X}>", byte));
    }
    return Ok();
  }

  Status ReadPrefix() {
    TRAIND_ASSIGN(const std::vector<std::string> names, ParsePrefix(FieldOf(root_, "post_processor")));
    for (const std::string& name : names) {
      TRAIND_ASSIGN(const TokenId id, Named(name, "post_processor.single"));
      parts_.prefix.push_back(id);
    }
    return Ok();
  }

  Status FindEndOfText() {
    if (!end_of_text_.empty()) {
      const auto found = by_name_.find(std::string(end_of_text_));
      if (found == by_name_.end()) {
        return Status(ErrorCode::DAMAGED_TOKENIZER,
                      fmt::format("the end-of-text token '{}' is not in the vocabulary", end_of_text_));
      }
      parts_.end_of_text = found->second;
      return Ok();
    }
    for (const std::string_view name : kEndsOfText) {
      const auto found = by_name_.find(std::string(name));
      if (found == by_name_.end()) continue;
      parts_.end_of_text = found->second;
      return Ok();
    }
    return Status(ErrorCode::DAMAGED_TOKENIZER, "no token is known to end a text",
                  "name it: WITH (end_of_text='<|endoftext|>'), say; or put a tokenizer_config.json with "
                  "eos_token beside the file");
  }

  const Json& root_;
  const std::string_view end_of_text_;
  HfParts parts_;
  std::unordered_map<std::string, TokenId> by_name_;  // as written
  std::vector<bool> used_;
  int64_t largest_id_ = -1;
};

}  // namespace

Result<HfParts> ParseHfTokenizer(std::string_view text, std::string_view end_of_text) {
  if (std::ssize(text) > kMaxTokenizerBytes) {
    return Status(ErrorCode::DAMAGED_TOKENIZER,
                  fmt::format("has {} bytes; the limit is {}", text.size(), kMaxTokenizerBytes));
  }
  const Result<Json> root = ParseJson(text);
  if (!root.ok()) return Status(ErrorCode::DAMAGED_TOKENIZER, root.status().message());
  TRAIND_ASSIGN(HfParts parts, HfParser(*root, end_of_text).Run());
  ChecksumStream key;
  key.Update(fmt::format("tokenizer.json 1 {}\n", parts.end_of_text));
  key.Update(text);
  parts.key = key.Hex();
  return parts;
}

}  // namespace traind::data
