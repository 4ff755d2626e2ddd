// Normalizers of tokenizer.json: a list of steps over valid UTF-8.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/tokenizers/pattern.h"

namespace traind::data {

struct NormalizerStep {
  enum class Kind { kNfc, kNfd, kNfkc, kNfkd, kPrepend, kReplace };
  Kind kind = Kind::kNfc;
  std::shared_ptr<const Pattern> pattern;  // kReplace
  std::string text;                        // kPrepend, kReplace: what is put there
};

struct Normalizer {
  std::vector<NormalizerStep> steps;

  // Whether a text may be normalised in parts that SafeEnd has cut.
  bool streams() const;
  // `text` normalised. TEXT_NOT_TOKENIZABLE where a pattern gives up.
  Result<std::string> Apply(std::string_view text) const;
};

// The largest prefix of a text that normalises (NFC, NFD, NFKC, NFKD) as it would with anything after it, and
// what comes after does not depend on it; 0 if there is none.
size_t SafeEnd(std::string_view text);

}  // namespace traind::data
