// Tokenizers in the catalog. The files of one lie in <state>/tokenizers/<id>; bytes has none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/base/io.h"
#include "engine/spec/task.h"

namespace traind::daemon {

// Always there, without a row.
inline constexpr std::string_view kBytes = "bytes";

struct TokenizerRecord {
  int64_t id = 0;
  std::string name;
  TokenizerFacts facts;
  std::string statement;  // in canonical form: what it was made by
};

Result<std::optional<TokenizerRecord>> LookUpTokenizer(Connection& connection, std::string_view name);
Result<std::vector<std::string>> TokenizerNames(Connection& connection);
// Of the models whose specifications name it.
Result<std::vector<std::string>> ModelsOfTokenizer(Connection& connection, int64_t id);

// Returns its id, which no tokenizer had before. TOKENIZER_EXISTS if there is one of that name.
Result<int64_t> InsertTokenizer(Transaction& transaction, const TokenizerRecord& tokenizer, double now);
// TOKENIZER_IN_USE, naming models, if there are any. The files are the caller's.
Status DeleteTokenizer(Transaction& transaction, const TokenizerRecord& tokenizer);

// What tasks call it by: its directory; empty for id 0, which is bytes.
std::string TokenizerDirectory(std::string_view state_directory, int64_t id);

// Where a worker puts a tokenizer that has no row yet; `unique` within this daemon's life.
std::string NewTokenizerDirectory(std::string_view state_directory, std::string_view unique);
// Removes what statements that were cut short have left there. At start, before there are any.
void SweepTokenizers(Io& io, const std::string& state_directory);

}  // namespace traind::daemon
