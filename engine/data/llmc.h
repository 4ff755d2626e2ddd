// llm.c's token shards: a header of 256 int32, then the tokens.
//
//   0  magic      20240520 for GPT-2's vocabulary, 20240801 for Llama 3's
//   1  version    1: uint16 tokens; 7: uint32 tokens
//   2  tokens
#pragma once

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/raw_tokens.h"
#include "engine/data/source.h"

namespace traind::data {

// Checks the header and that its count is what the file holds. DAMAGED_FILE names file and byte offset;
// EMPTY_FILE if it holds no token.
Result<RawTokens> OpenLlmc(Io& io, const SourceFile& source);

}  // namespace traind::data
