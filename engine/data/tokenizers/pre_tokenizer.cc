// Cuts the first step's text as it comes, everything after it piece by piece.
#include "engine/data/tokenizers/pre_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/limits.h"
#include "engine/data/tokenizers/utf8.h"

namespace traind::data {
namespace {

using Behavior = SplitStep::Behavior;
using Kind = SplitStep::Kind;

size_t Back(std::string_view text, size_t at, size_t characters) {
  for (; characters > 0 && at > 0; --characters) {
    do {
      --at;
    } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  }
  return at;
}

}  // namespace

PreTokenizer::PreTokenizer(const std::vector<SplitStep>* steps) : steps_(steps) {
  for (const SplitStep& step : *steps_) {
    matcher_of_.push_back(matchers_.size());
    if (step.kind == Kind::kSplit) matchers_.emplace_back(step.pattern);
  }
  if (!steps_->empty() && steps_->front().kind == Kind::kPrefix) base_ = 1;
}

// Whether words can be given before the segment's end is known.
bool PreTokenizer::streams() const {
  if (base_ >= steps_->size()) return false;
  const SplitStep& first = (*steps_)[base_];
  return first.kind == Kind::kSplit && !first.invert && first.behavior == Behavior::kIsolated;
}

Status PreTokenizer::CheckLength() const {
  if (std::ssize(text_) <= kMaxWordBytes) return Ok();
  return Status(ErrorCode::TEXT_NOT_TOKENIZABLE,
                fmt::format("a word of the tokenizer's pre-tokenizer is longer than {} bytes", kMaxWordBytes),
                "cut the text into shorter documents, or use a tokenizer that splits it at spaces");
}

Status PreTokenizer::Append(std::string_view text, const Take& take) {
  if (text.empty()) return Ok();
  if (!begun_ && base_ == 1) {
    const SplitStep& prefix = steps_->front();
    if (!text.starts_with(prefix.text) && (first_ || !prefix.only_first)) text_ = prefix.text;
  }
  begun_ = true;
  text_ += text;
  if (!streams()) return CheckLength();
  return text_.size() >= wanted_ ? Cut(false, take) : Ok();
}

Status PreTokenizer::Finish(bool document, const Take& take) {
  if (begun_) {
    TRAIND_TRY(streams() ? Cut(true, take) : Run(base_, text_, take));
    first_ = false;
  }
  if (document) first_ = true;
  text_.clear();
  from_ = 0;
  wanted_ = 0;
  begun_ = false;
  return Ok();
}

// Gives the words of text_ that are sure, all of them if it is whole.
Status PreTokenizer::Cut(bool whole, const Take& take) {
  Matcher& matcher = matchers_[matcher_of_[base_]];
  const std::string_view text = text_;
  size_t at = from_;
  for (;;) {
    TRAIND_ASSIGN(const Matcher::Found found, matcher.Find(text, at, whole));
    if (found == Matcher::Found::kMatch) {
      const size_t begin = matcher.begin();
      const size_t end = matcher.end();
      if (begin > from_) TRAIND_TRY(Run(base_ + 1, text.substr(from_, begin - from_), take));
      if (end > begin) TRAIND_TRY(Run(base_ + 1, text.substr(begin, end - begin), take));
      from_ = std::max(from_, end);
      at = end;
      if (end > begin) continue;
      if (end == text.size()) break;
      at += CharacterBytes(text, end);  // an empty match
      continue;
    }
    break;
  }
  if (whole) {
    if (from_ < text.size()) TRAIND_TRY(Run(base_ + 1, text.substr(from_), take));
    return Ok();
  }
  const size_t keep = Back(text, from_, matcher.pattern().lookbehind());
  text_.erase(0, keep);
  from_ -= keep;
  // Twice as much text, so that a long word is not looked at again for each piece of it.
  wanted_ = std::min(2 * (text_.size() - from_) + from_, static_cast<size_t>(kMaxWordBytes));
  return CheckLength();
}

Status PreTokenizer::Run(size_t index, std::string_view piece, const Take& take) {
  if (piece.empty()) return Ok();
  if (index == steps_->size()) return take(piece);
  const SplitStep& step = (*steps_)[index];
  switch (step.kind) {
    case Kind::kSplit:
      return Split(index, piece, take);
    case Kind::kPrefix: {
      if (piece.starts_with(step.text) || (step.only_first && !first_)) return Run(index + 1, piece, take);
      return Run(index + 1, step.text + std::string(piece), take);
    }
    case Kind::kReplaceSpace: {
      std::string replaced;
      for (const char c : piece) {
        if (c == ' ') {
          replaced += step.text;
        } else {
          replaced.push_back(c);
        }
      }
      return Run(index + 1, replaced, take);
    }
  }
  return Ok();
}

Status PreTokenizer::Split(size_t index, std::string_view piece, const Take& take) {
  const SplitStep& step = (*steps_)[index];
  TRAIND_ASSIGN(std::vector<Piece> pieces, PiecesOf(index, piece));
  Join(step, &pieces);
  for (const Piece& part : pieces) {
    if (step.behavior == Behavior::kRemoved && part.is_match) continue;
    TRAIND_TRY(Run(index + 1, part.text, take));
  }
  return Ok();
}

Result<std::vector<PreTokenizer::Piece>> PreTokenizer::PiecesOf(size_t index, std::string_view text) {
  const bool invert = (*steps_)[index].invert;
  std::vector<Piece> pieces;
  size_t from = 0;
  for (size_t at = 0; at <= text.size();) {
    Matcher& matcher = matchers_[matcher_of_[index]];
    TRAIND_ASSIGN(const Matcher::Found found, matcher.Find(text, at, true));
    if (found != Matcher::Found::kMatch) break;
    if (matcher.begin() > from) pieces.push_back({text.substr(from, matcher.begin() - from), invert});
    pieces.push_back({text.substr(matcher.begin(), matcher.end() - matcher.begin()), !invert});
    from = std::max(from, matcher.end());
    at = matcher.end();
    if (matcher.end() > matcher.begin()) continue;
    at += at < text.size() ? CharacterBytes(text, at) : 1;
  }
  if (from < text.size()) pieces.push_back({text.substr(from), invert});
  return pieces;
}

// What a behaviour joins. Pieces are neighbours in one text, so that two of them are one range of it.
void PreTokenizer::Join(const SplitStep& step, std::vector<Piece>* pieces) {
  if (step.behavior == Behavior::kIsolated || step.behavior == Behavior::kRemoved) return;
  std::vector<Piece> joined;
  bool previous_match = false;
  const auto joins = [&](const Piece& piece) {
    switch (step.behavior) {
      case Behavior::kContiguous:
        return piece.is_match == previous_match;
      case Behavior::kMergedWithPrevious:
        return piece.is_match && !previous_match;
      default:
        return !piece.is_match && previous_match;  // kMergedWithNext: what follows a match joins it
    }
  };
  for (const Piece& piece : *pieces) {
    if (!joined.empty() && joins(piece)) {
      Piece& last = joined.back();
      last.text = std::string_view(last.text.data(), last.text.size() + piece.text.size());
    } else {
      joined.push_back(piece);
    }
    previous_match = piece.is_match;
  }
  *pieces = std::move(joined);
}

}  // namespace traind::data
