// errno → Status.
#include "engine/base/io_error.h"

#include <cerrno>
#include <system_error>

namespace traind {
namespace {

ErrorCode CodeOf(int error_number, bool reading) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::DISK_FULL;
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::FILE_NOT_FOUND;
    case EISDIR:
    case ENXIO:
    case ENODEV:
      return ErrorCode::NOT_A_REGULAR_FILE;
    case EACCES:
    case EPERM:
      return reading ? ErrorCode::FILE_NOT_READABLE : ErrorCode::IO;
    default:
      return ErrorCode::IO;
  }
}

std::string_view HintFor(ErrorCode code) {
  if (code == ErrorCode::DISK_FULL) return "Free space on that file system.";
  if (code == ErrorCode::FILE_NOT_READABLE) return "Give the user who runs traind the right to read it.";
  return {};
}

}  // namespace

Status IoError(std::string_view operation, const std::string& path, int error_number, bool reading) {
  const ErrorCode code = CodeOf(error_number, reading);
  return Status(
      code,
      "cannot " + std::string(operation) + " " + path + ": " + std::generic_category().message(error_number),
      std::string(HintFor(code)));
}

}  // namespace traind
