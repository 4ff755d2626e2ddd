// Finds and reads the text files of a data set.
#include "engine/data/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "engine/base/limits.h"
#include "engine/data/text_validator.h"

namespace traind::data {
namespace {

constexpr int64_t kPieceBytes = 256 * 1024;

bool SameFile(const FileInfo& a, const FileInfo& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.modified_ns == b.modified_ns && a.device == b.device &&
         a.inode == b.inode;
}

Status Changed(const SourceFile& source) {
  return Status(ErrorCode::DATA_CHANGED, fmt::format("{}: the file changed while it was read", source.path),
                "train from a file that nobody writes to, or start again when it is complete");
}

Status CheckUnchanged(Io& io, const SourceFile& source) {
  TRAIND_ASSIGN(const FileInfo now, io.Stat(source.path));
  return SameFile(now, source.info) ? Ok() : Changed(source);
}

bool LooksLikeUtf16(std::string_view begin) {
  return begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff");
}

Status Explain(const SourceFile& source, const TextProblem& problem, std::string_view begin) {
  if (problem.kind == TextProblem::Kind::kNul) {
    return Status(ErrorCode::FORBIDDEN_BYTE,
                  fmt::format("{}: a NUL at byte {}; the byte tokenizer uses it as end-of-text", source.path,
                              problem.offset),
                  "remove the NUL bytes, or leave this file out if it is no text");
  }
  return Status(
      ErrorCode::INVALID_ENCODING, fmt::format("{}: not valid UTF-8 at byte {}", source.path, problem.offset),
      LooksLikeUtf16(begin)
          ? "the file begins with a UTF-16 byte order mark: convert it with `iconv -f UTF-16 -t UTF-8`"
          : "convert the file to UTF-8 (`iconv -f LATIN1 -t UTF-8`), or leave it out if it is no text");
}

}  // namespace

Result<std::vector<SourceFile>> FindSources(Io& io, const DataSpec& data) {
  std::set<std::string> paths;
  for (const std::string& pattern : data.patterns) {
    TRAIND_ASSIGN(std::vector<std::string> matches, ExpandFiles(pattern));
    for (std::string& match : matches) paths.insert(std::move(match));
    if (std::ssize(paths) > kMaxDatasetFiles) {
      return Status(ErrorCode::INVALID_OPTION,
                    fmt::format("data '{}' has more than {} files", data.name, kMaxDatasetFiles),
                    "join small files into larger ones");
    }
  }
  std::vector<SourceFile> sources;
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (const std::string& path : paths) {
    TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
    if (info.kind == FileKind::kMissing) {
      return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("{}: the file has gone", path));
    }
    if (info.kind != FileKind::kRegular) {
      return Status(ErrorCode::NOT_A_REGULAR_FILE, fmt::format("{}: not a regular file", path));
    }
    if (info.bytes == 0) {
      return Status(ErrorCode::EMPTY_FILE, fmt::format("{}: the file is empty", path),
                    "fill it, or leave it out of the data");
    }
    if (seen.insert({info.device, info.inode}).second) sources.push_back({path, info});
  }
  if (sources.empty()) {
    return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("data '{}' names no file", data.name));
  }
  return sources;
}

Status ReadText(Io& io, const SourceFile& source, const std::function<Status(std::string_view)>& take) {
  TRAIND_ASSIGN(const std::unique_ptr<ReadableFile> file, io.OpenRead(source.path));
  if (file->size() != source.info.bytes) return Changed(source);
  TextValidator validator;
  std::string piece;
  std::string begin;
  for (int64_t offset = 0; offset < source.info.bytes; offset += std::ssize(piece)) {
    piece.resize(static_cast<size_t>(std::min(kPieceBytes, source.info.bytes - offset)));
    const Status read = file->ReadAt(offset, std::as_writable_bytes(std::span(piece)));
    // The file has become shorter than it said.
    if (read.code() == ErrorCode::DAMAGED_FILE) return Changed(source);
    TRAIND_TRY(read);
    if (offset == 0) begin = piece.substr(0, 2);
    if (const auto problem = validator.Check(piece)) return Explain(source, *problem, begin);
    TRAIND_TRY(take(piece));
  }
  if (const auto problem = validator.Finish()) return Explain(source, *problem, begin);
  return CheckUnchanged(io, source);
}

}  // namespace traind::data
