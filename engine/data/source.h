// The files behind a data set, and reading them whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/text_validator.h"
#include "engine/spec/data.h"

namespace traind::data {

// One file as it was found; what must still hold after it has been read.
struct SourceFile {
  std::string path;
  FileInfo info;
};

// All files of `data`'s patterns, sorted by path, each real file once (under the name that sorts first). Each
// .idx of Megatron is followed by its .bin.
// FILE_NOT_FOUND, NOT_A_REGULAR_FILE, FILE_NOT_READABLE, EMPTY_FILE name the file; INVALID_OPTION the
// limit on their number.
Result<std::vector<SourceFile>> FindSources(Io& io, const DataSpec& data);

// "x.idx" → "x.bin".
std::string MegatronTokens(const std::string& index_path);

// Takes the next piece of a file: at most 256 KiB, all but the last a multiple of 8 bytes.
using TakePiece = std::function<Status(std::string_view piece)>;

// Reads `source` in pieces. DATA_CHANGED if it is not the file that FindSources saw, before or after; a
// Status of `take` ends it.
Status ReadPieces(Io& io, const SourceFile& source, const TakePiece& take);

// DATA_CHANGED naming the file.
Status FileChanged(const SourceFile& source);
// DATA_CHANGED if it is not the file that FindSources saw.
Status CheckUnchanged(Io& io, const SourceFile& source);

// INVALID_ENCODING or FORBIDDEN_BYTE: what is wrong with `source` at `place` ("byte 7", "line 2 (byte 9)").
// `begin` is the file's first bytes, by which UTF-16 is told.
Status ExplainText(const SourceFile& source, TextProblem::Kind kind, std::string_view place,
                   std::string_view begin);

}  // namespace traind::data
