// From a DataSpec to mapped tokens: tokenised once, then found again by content.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/token_cache.h"
#include "engine/spec/data.h"

namespace traind::data {

struct PrepareOptions {
  std::string cache_directory;  // made if it is missing
  std::string unique;           // no other process uses it for temporary names now
  int64_t vocab_size = 256;     // of the model; every token must be below it
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

// Reads all files (their key is made of their content, in the order of their names, and the tokenizer), and
// tokenises them into <cache_directory>/<key>.tokens unless that is there. Errors as FindSources, ReadText
// and Io say; TOKEN_OUT_OF_RANGE names file and byte offset; DATA_CHANGED if a file changes between the two
// reads.
Result<PreparedData> PrepareData(Io& io, const DataSpec& data, const PrepareOptions& options);

}  // namespace traind::data
