// Pre-tokenizers of tokenizer.json: a list of steps that cut a text into words.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/tokenizers/pattern.h"

namespace traind::data {

struct SplitStep {
  enum class Behavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };
  enum class Kind {
    kSplit,        // at a pattern's matches
    kPrefix,       // puts `text` before a piece that does not begin with it
    kReplaceSpace  // every U+0020 becomes `text`
  };
  Kind kind = Kind::kSplit;
  std::shared_ptr<const Pattern> pattern;
  Behavior behavior = Behavior::kIsolated;
  bool invert = false;
  bool only_first = false;  // kPrefix: only at the document's beginning
  std::string text;
};

// Takes the text of one segment after the other; gives words.
class PreTokenizer {
 public:
  using Take = std::function<Status(std::string_view word)>;

  explicit PreTokenizer(const std::vector<SplitStep>* steps);

  // More of the segment. TEXT_NOT_TOKENIZABLE if a word is longer than kMaxWordBytes, or a pattern gives up.
  Status Append(std::string_view text, const Take& take);
  // The segment's end; `document` too: the next segment is another document's first.
  Status Finish(bool document, const Take& take);

 private:
  struct Piece {
    std::string_view text;
    bool is_match = false;
  };
  bool streams() const;
  Status Cut(bool whole, const Take& take);
  Status Run(size_t step, std::string_view piece, const Take& take);
  Status Split(size_t step, std::string_view piece, const Take& take);
  Result<std::vector<Piece>> PiecesOf(size_t step, std::string_view text);
  static void Join(const SplitStep& step, std::vector<Piece>* pieces);
  Status CheckLength() const;

  const std::vector<SplitStep>* steps_;
  std::vector<Matcher> matchers_;  // one per step; unused where it is no split
  std::vector<size_t> matcher_of_;
  size_t base_ = 0;     // the step that text_ is for: 1 behind a prefix, which is put there as the text comes
  std::string text_;    // what is not yet cut, after some characters that the pattern may look back at
  size_t from_ = 0;     // where it begins
  size_t wanted_ = 0;   // bytes of text_ at which another try pays
  bool first_ = true;   // nothing of the document came before this segment
  bool begun_ = false;  // something of this segment came
};

}  // namespace traind::data
