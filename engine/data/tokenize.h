// The tokens of a data set's files, format by format, into a token file or nowhere.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/prepare.h"
#include "engine/data/source.h"
#include "engine/data/token_cache.h"

namespace traind::data {

struct TokenizeRequest {
  const DataSpec& data;
  const std::vector<SourceFile>& sources;
  const PrepareOptions& options;
  // Sees every file whole, in pieces, file by file.
  std::function<Status(size_t file, std::string_view piece)> watch;
  std::function<Status()> poll;  // asked now and then
};

// Reads all sources and writes what they hold to `path`; with an empty path only checks them. `info` has the
// files' rows; their documents and first tokens, and the totals, are filled in.
Status Tokenize(Io& io, const TokenizeRequest& request, const std::string& path, TokenFileInfo* info);

}  // namespace traind::data
