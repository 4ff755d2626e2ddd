// The stages.
#include "engine/data/tokenizers/hf_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/limits.h"
#include "engine/data/tokenizers/hf_tokenizer.h"
#include "engine/data/tokenizers/utf8.h"

namespace traind::data {

HfEncoder::HfEncoder(const HfTokenizer* tokenizer)
    : tokenizer_(tokenizer),
      parts_(tokenizer->parts()),
      pre_tokenizer_(&parts_.splits),
      bpe_(&parts_.model) {}

Status HfEncoder::Append(std::string_view bytes, std::vector<TokenId>* ids) {
  ids_ = ids;
  bytes_ += bytes;
  return TakeBytes(false);
}

Status HfEncoder::Finish(std::vector<TokenId>* ids) {
  ids_ = ids;
  TRAIND_TRY(TakeBytes(true));
  TRAIND_TRY(TakeInvalid());
  TRAIND_TRY(FindRaw({}, true));
  return pre_tokenizer_.Finish(true, [](std::string_view) { return Ok(); });
}

Status HfEncoder::TakeBytes(bool last) {
  size_t at = 0;
  const std::string_view bytes = bytes_;
  while (at < bytes.size()) {
    const Utf8Prefix prefix = ValidUtf8Prefix(bytes.substr(at));
    if (prefix.valid > 0) {
      TRAIND_TRY(TakeInvalid());
      TRAIND_TRY(FindRaw(bytes.substr(at, prefix.valid), false));
      at += prefix.valid;
    }
    if (at == bytes.size() || (prefix.unfinished && !last)) break;
    invalid_.push_back(bytes[at++]);
    if (std::ssize(invalid_) >= kMaxWordBytes) TRAIND_TRY(TakeInvalid());
  }
  bytes_.erase(0, at);
  return Ok();
}

Status HfEncoder::TakeInvalid() {
  if (invalid_.empty()) return Ok();
  TRAIND_TRY(FindRaw({}, true));
  bpe_.Encode(invalid_, true, ids_);
  invalid_.clear();
  return Ok();
}

Status HfEncoder::CheckHeld(const std::string& held) const {
  if (std::ssize(held) <= kMaxWordBytes) return Ok();
  return Status(
      ErrorCode::TEXT_NOT_TOKENIZABLE,
      fmt::format("this tokenizer must see a document whole, and one has more than {} bytes", kMaxWordBytes),
      "cut it into shorter documents, or use a byte-level BPE tokenizer");
}

template <typename Next>
Status HfEncoder::Find(const TokenFinder& finder, std::string* held, std::string_view text, bool last,
                       const Next& next) {
  if (finder.empty()) return next(text, last);
  *held += text;
  const std::string_view all = *held;
  // A token that begins before the limit is known whole.
  size_t limit = all.size();
  if (!last) {
    limit = finder.looks_around() || all.size() < finder.longest() ? 0 : all.size() - finder.longest() + 1;
    while (limit > 0 && limit < all.size() && (static_cast<unsigned char>(all[limit]) & 0xc0) == 0x80)
      --limit;
  }
  if (finder.looks_around()) TRAIND_TRY(CheckHeld(*held));
  size_t from = 0;
  size_t taken = 0;
  while (from < limit) {
    const TokenFinder::Match match = finder.Find(all, from, limit, taken);
    if (match.token == nullptr) break;
    TRAIND_TRY(next(match.begin > taken ? all.substr(taken, match.begin - taken) : std::string_view(), true));
    ids_->push_back(match.token->id);
    from = match.end;
    taken = match.end;
  }
  const size_t end = std::max(limit, taken);
  TRAIND_TRY(next(all.substr(taken, end - taken), last));
  held->erase(0, end);
  return Ok();
}

Status HfEncoder::FindRaw(std::string_view text, bool last) {
  return Find(tokenizer_->raw_tokens(), &raw_, text, last,
              [this](std::string_view part, bool ends) { return Normalize(part, ends); });
}

Status HfEncoder::Normalize(std::string_view text, bool last) {
  const Normalizer& normalizer = parts_.normalizer;
  if (normalizer.steps.empty()) return FindNormalized(text, last);
  unsettled_ += text;
  if (!normalizer.streams()) {
    TRAIND_TRY(CheckHeld(unsettled_));
    if (!last) return Ok();
  }
  const size_t end = last ? unsettled_.size() : SafeEnd(unsettled_);
  TRAIND_ASSIGN(const std::string normalized, normalizer.Apply(std::string_view(unsettled_).substr(0, end)));
  unsettled_.erase(0, end);
  TRAIND_TRY(CheckHeld(unsettled_));
  return FindNormalized(normalized, last);
}

Status HfEncoder::FindNormalized(std::string_view text, bool last) {
  return Find(tokenizer_->normalized_tokens(), &normalized_, text, last,
              [this](std::string_view part, bool ends) { return Cut(part, ends); });
}

Status HfEncoder::Cut(std::string_view text, bool last) {
  const auto take = [this](std::string_view word) {
    bpe_.Encode(word, false, ids_);
    return Ok();
  };
  TRAIND_TRY(pre_tokenizer_.Append(text, take));
  return last ? pre_tokenizer_.Finish(false, take) : Ok();
}

}  // namespace traind::data
