// From a DataSpec to mapped tokens: tokenised once, then found again by content.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/token_cache.h"
#include "engine/data/tokenizer.h"
#include "engine/spec/data.h"

namespace traind::data {

struct PrepareOptions {
  std::string cache_directory;           // made if it is missing
  std::string unique;                    // no other process uses it for temporary names now
  const Tokenizer* tokenizer = nullptr;  // borrowed; of text
  int64_t vocab_size = 256;              // of the model; every token must be below it
  int threads = 1;                       // that tokenise
  // The key that an earlier attempt trained with, or empty. The data stays what it was then: its cache is
  // used although files have changed since; without the cache, changed files are DATA_CHANGED.
  std::string expected_key;
  // Called now and then with the bytes of work done out of all; never goes back. Another Status than OK ends
  // the preparation with it.
  std::function<Status(int64_t done_bytes, int64_t total_bytes)> progress;
};

struct PreparedData {
  std::string key;
  TokenFile file;
};

// Reads all files (their key is made of their content, in the order of their names, the format, and the
// tokenizer), and writes their tokens to <cache_directory>/<key>.tokens unless that is there. Documents of
// text are joined by end-of-text; tokens are taken as they are. Errors as FindSources, ReadPieces and Io say;
// of text INVALID_ENCODING, FORBIDDEN_BYTE and the tokenizer's; of formats DAMAGED_FILE; TOKEN_OUT_OF_RANGE:
// all name file and place. DATA_CHANGED if a file changes between the two reads.
Result<PreparedData> PrepareData(Io& io, const DataSpec& data, const PrepareOptions& options);

// The bytes of work that preparing `data` takes at most; 0 if its files cannot be found.
int64_t WorkBytes(Io& io, const DataSpec& data);

}  // namespace traind::data
