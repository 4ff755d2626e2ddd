// Tokens cut into sequences: sequence k of a token file reads tokens [k·T, k·T + T], T inputs and, shifted by
// one, T targets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/token_cache.h"

namespace traind::data {

// Whole sequences in `tokens` tokens: (tokens − 1) / sequence_length, 0 if there are too few.
int64_t SequenceCount(int64_t tokens, int64_t sequence_length);

// A token file (borrowed), and what messages call it.
struct NamedTokens {
  const TokenFile* file = nullptr;
  std::string name;
};

// The sequences of one or more token files, numbered one file after the other. Keeps at most half of
// kMaxResidentDataBytes of them resident.
class Sequences {
 public:
  // DATA_TOO_SHORT naming the first file that holds less than one sequence.
  static Result<Sequences> Open(const std::vector<NamedTokens>& files, int64_t sequence_length);

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }
  // Sequences of each file.
  const std::vector<int64_t>& counts() const { return counts_; }

  // Where sequence `index` begins, for messages: "token 4352 of /data/a.txt".
  std::string PlaceOf(int64_t index) const;

  // Copies sequence `index` of count() into `inputs` and `targets`, each of length() elements.
  void Read(int64_t index, std::span<int32_t> inputs, std::span<int32_t> targets);

 private:
  Sequences(std::vector<const TokenFile*> files, std::vector<int64_t> counts, int64_t length);

  std::vector<const TokenFile*> files_;
  std::vector<int64_t> counts_;
  int64_t length_;
  int64_t count_ = 0;
  int64_t resident_bytes_ = 0;  // an upper bound of what was touched since the last release
};

}  // namespace traind::data
