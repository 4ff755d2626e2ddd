// Megatron's indexed data sets: an index, .idx, over a file of tokens, .bin. Little-endian, without padding:
//
//   9 bytes   "MMIDIDX", 0, 0
//   uint64    version, 1
//   uint8     type of the tokens: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 8 uint16
//   uint64    sequences
//   uint64    entries of the document index
//   int32[]   tokens of each sequence
//   int64[]   where each sequence begins in the .bin, in bytes
//   int64[]   the document index: the first sequence of each document, then the number of sequences
//   int8[]    modes, one per sequence: only in multimodal data, which is refused
#pragma once

#include <cstdint>
#include <functional>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/raw_tokens.h"
#include "engine/data/source.h"

namespace traind::data {

struct MegatronIndex {
  RawTokens tokens;  // of the .bin: its sequences lie in it one after the other, without gaps
  int64_t documents = 0;
};

// Checks every number of the index against the others and against the .bin's size, without holding it in
// memory. DAMAGED_FILE names file and byte offset, EMPTY_FILE data without tokens; DATA_CHANGED as
// CheckUnchanged; a Status of `watch`, called now and then, ends it.
Result<MegatronIndex> OpenMegatron(Io& io, const SourceFile& index, const SourceFile& tokens,
                                   const std::function<Status()>& watch);

}  // namespace traind::data
