// Regular expressions of tokenizers: PCRE2, compiled by its JIT, over valid UTF-8.
//
// tokenizer.json's patterns are Oniguruma's; they are translated where PCRE2 means something else (\s, \w).
// Matching is bounded: an expression that backtracks without end is an error, never a hang.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind::data {

class Pattern {
 public:
  // DAMAGED_TOKENIZER with the place in `expression` if it is none, or is longer than kMaxPatternBytes.
  static Result<std::shared_ptr<const Pattern>> Compile(std::string_view expression);
  // Matches exactly this text.
  static Result<std::shared_ptr<const Pattern>> Literal(std::string_view text);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // How far back of its start a match may look, in characters; at least 1, for anchors.
  size_t lookbehind() const { return lookbehind_; }
  const std::string& text() const { return text_; }

 private:
  friend class Matcher;
  Pattern() = default;

  struct Code;
  std::unique_ptr<Code> code_;
  std::string text_;
  size_t lookbehind_ = 1;
};

// Finds a pattern's matches; one thread at a time.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<const Pattern> pattern);
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  enum class Found {
    kMatch,    // begin and end are set
    kNone,     // nowhere in the rest
    kNeedMore  // the text's end may hide the end or the beginning of a match
  };
  // The first match from `from` on. `whole`: nothing comes after `text`; otherwise kNeedMore is possible.
  // TEXT_NOT_TOKENIZABLE beyond the limits of backtracking.
  Result<Found> Find(std::string_view text, size_t from, bool whole);
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  const Pattern& pattern() const { return *pattern_; }

 private:
  struct State;
  std::shared_ptr<const Pattern> pattern_;
  std::unique_ptr<State> state_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace traind::data
