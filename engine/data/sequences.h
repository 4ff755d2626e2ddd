// Tokens cut into sequences: sequence k reads tokens [k·T, k·T + T], T inputs and, shifted by one, T targets.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "engine/data/token_cache.h"

namespace traind::data {

// Whole sequences in `tokens` tokens: (tokens − 1) / sequence_length, 0 if there are too few.
int64_t SequenceCount(int64_t tokens, int64_t sequence_length);

// The sequences of one token file (borrowed). Keeps at most half of kMaxResidentDataBytes of it resident.
class Sequences {
 public:
  // DATA_TOO_SHORT naming `name` if the file holds less than one sequence.
  static Result<Sequences> Open(const TokenFile& file, const std::string& name, int64_t sequence_length);

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }
  int64_t tokens() const { return std::ssize(file_->tokens()); }

  // Copies sequence `index` of count() into `inputs` and `targets`, each of length() elements.
  void Read(int64_t index, std::span<int32_t> inputs, std::span<int32_t> targets);

 private:
  Sequences(const TokenFile* file, int64_t length, int64_t count)
      : file_(file), length_(length), count_(count) {}

  const TokenFile* file_;
  int64_t length_;
  int64_t count_;
  int64_t resident_bytes_ = 0;  // an upper bound of what was touched since the last release
};

}  // namespace traind::data
