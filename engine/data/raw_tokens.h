// Files that hold token ids as numbers of one width: the body of llm.c's shards and of Megatron's .bin.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/source.h"
#include "engine/data/tokenizer.h"

namespace traind::data {

enum class RawType { kUint8, kInt8, kUint16, kInt16, kInt32, kUint32, kInt64 };

int64_t BytesOf(RawType type);
std::string_view NameOf(RawType type);

// Where the ids lie in a file: from `begin`, a multiple of 8, to its end, which is whole ids away.
struct RawTokens {
  RawType type = RawType::kUint16;
  int64_t begin = 0;
};

// Reads the ids in pieces. TOKEN_OUT_OF_RANGE names file, byte offset and id for one that is negative or not
// below vocab_size; the rest as ReadPieces, whose pieces `watch` sees whole.
Status ReadRawTokens(Io& io, const SourceFile& source, const RawTokens& tokens, int64_t vocab_size,
                     const TakePiece& watch, const std::function<Status(std::span<const TokenId>)>& take);

}  // namespace traind::data
