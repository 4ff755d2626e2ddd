// What is built upon Io, and paths as text.
#include "engine/base/io.h"

namespace traind {

Result<std::string> ReadWholeFile(Io& io, const std::string& path, int64_t max_bytes) {
  TRAIND_ASSIGN(const std::unique_ptr<ReadableFile> file, io.OpenRead(path));
  if (file->size() > max_bytes) {
    return Status(ErrorCode::IO, "cannot read " + path + ": it has " + std::to_string(file->size()) +
                                     " bytes; the limit is " + std::to_string(max_bytes) + " bytes");
  }
  std::string content(static_cast<size_t>(file->size()), '\0');
  TRAIND_TRY(file->ReadAt(0, std::as_writable_bytes(std::span(content))));
  return content;
}

std::string AbsolutePath(std::string_view directory, std::string_view path) {
  std::string joined;
  if (path.empty() || path.front() != '/') {
    joined = directory;
    joined += '/';
  }
  joined += path;
  std::string result;
  for (size_t begin = 0; begin < joined.size();) {
    const size_t end = std::min(joined.find('/', begin), joined.size());
    const std::string_view part = std::string_view(joined).substr(begin, end - begin);
    if (part == "..") {
      result.erase(std::min(result.rfind('/'), result.size()));
    } else if (!part.empty() && part != ".") {
      result += '/';
      result += part;
    }
    begin = end + 1;
  }
  return result.empty() ? "/" : result;
}

}  // namespace traind
