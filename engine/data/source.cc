// Finds and reads the files of a data set.
#include "engine/data/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "engine/base/limits.h"

namespace traind::data {
namespace {

constexpr int64_t kPieceBytes = 256 * 1024;
constexpr std::string_view kIndexEnding = ".idx";

bool SameFile(const FileInfo& a, const FileInfo& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.modified_ns == b.modified_ns && a.device == b.device &&
         a.inode == b.inode;
}

bool LooksLikeUtf16(std::string_view begin) {
  return begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff");
}

Result<std::set<std::string>> FindPaths(const DataSpec& data) {
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
  return paths;
}

Result<SourceFile> FindFile(Io& io, const std::string& path) {
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
  return SourceFile{path, info};
}

Result<SourceFile> FindTokensOf(Io& io, const std::string& index_path) {
  if (!index_path.ends_with(kIndexEnding)) {
    return Status(ErrorCode::DAMAGED_FILE, fmt::format("{}: not named like an index, *.idx", index_path),
                  "name Megatron data by its .idx files; each has its .bin beside it");
  }
  const std::string path = MegatronTokens(index_path);
  TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
  if (info.kind == FileKind::kMissing) {
    return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("{}: there is none beside {}", path, index_path),
                  "Megatron data is a pair of files, .idx and .bin");
  }
  return FindFile(io, path);
}

}  // namespace

std::string MegatronTokens(const std::string& index_path) {
  return index_path.substr(0, index_path.size() - kIndexEnding.size()) + ".bin";
}

Result<std::vector<SourceFile>> FindSources(Io& io, const DataSpec& data) {
  TRAIND_ASSIGN(const std::set<std::string> paths, FindPaths(data));
  std::vector<SourceFile> sources;
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (const std::string& path : paths) {
    TRAIND_ASSIGN(SourceFile source, FindFile(io, path));
    if (!seen.insert({source.info.device, source.info.inode}).second) continue;
    sources.push_back(std::move(source));
    if (data.format != DataFormat::kMegatron) continue;
    TRAIND_ASSIGN(SourceFile tokens, FindTokensOf(io, path));
    sources.push_back(std::move(tokens));
  }
  if (sources.empty()) {
    return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("data '{}' names no file", data.name));
  }
  return sources;
}

Status FileChanged(const SourceFile& source) {
  return Status(ErrorCode::DATA_CHANGED, fmt::format("{}: the file changed while it was read", source.path),
                "train from a file that nobody writes to, or start again when it is complete");
}

Status CheckUnchanged(Io& io, const SourceFile& source) {
  TRAIND_ASSIGN(const FileInfo now, io.Stat(source.path));
  return SameFile(now, source.info) ? Ok() : FileChanged(source);
}

Status ReadPieces(Io& io, const SourceFile& source, const TakePiece& take) {
  TRAIND_ASSIGN(const std::unique_ptr<ReadableFile> file, io.OpenRead(source.path));
  if (file->size() != source.info.bytes) return FileChanged(source);
  std::string piece;
  for (int64_t offset = 0; offset < source.info.bytes; offset += std::ssize(piece)) {
    piece.resize(static_cast<size_t>(std::min(kPieceBytes, source.info.bytes - offset)));
    const Status read = file->ReadAt(offset, std::as_writable_bytes(std::span(piece)));
    // The file has become shorter than it said.
    if (read.code() == ErrorCode::DAMAGED_FILE) return FileChanged(source);
    TRAIND_TRY(read);
    TRAIND_TRY(take(piece));
  }
  return CheckUnchanged(io, source);
}

Status ExplainText(const SourceFile& source, TextProblem::Kind kind, std::string_view place,
                   std::string_view begin) {
  if (kind == TextProblem::Kind::kNul) {
    return Status(
        ErrorCode::FORBIDDEN_BYTE,
        fmt::format("{}: a NUL at {}; the byte tokenizer uses it as end-of-text", source.path, place),
        "remove the NUL bytes, or leave this file out if it is no text");
  }
  return Status(
      ErrorCode::INVALID_ENCODING, fmt::format("{}: not valid UTF-8 at {}", source.path, place),
      LooksLikeUtf16(begin)
          ? "the file begins with a UTF-16 byte order mark: convert it with `iconv -f UTF-16 -t UTF-8`"
          : "convert the file to UTF-8 (`iconv -f LATIN1 -t UTF-8`), or leave it out if it is no text");
}

}  // namespace traind::data
