// The files behind a data set, and reading one of them as a document.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/spec/data.h"

namespace traind::data {

// One file as it was found; what must still hold after it has been read.
struct SourceFile {
  std::string path;
  FileInfo info;
};

// All files of `data`'s patterns, sorted by path, each real file once (under the name that sorts first).
// FILE_NOT_FOUND, NOT_A_REGULAR_FILE, FILE_NOT_READABLE, EMPTY_FILE name the file; INVALID_OPTION the
// limit on their number.
Result<std::vector<SourceFile>> FindSources(Io& io, const DataSpec& data);

// Reads `source` in pieces. INVALID_ENCODING and FORBIDDEN_BYTE name file and byte offset; DATA_CHANGED if it
// is not the file that FindSources saw, before or after; a Status of `take` ends it.
Status ReadText(Io& io, const SourceFile& source, const std::function<Status(std::string_view)>& take);

}  // namespace traind::data
