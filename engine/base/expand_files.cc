// From a pattern to the regular files it means.
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "engine/base/io.h"
#include "engine/base/io_error.h"
#include "engine/base/limits.h"

namespace traind {
namespace {

struct NamedFile {
  std::string name;
  bool is_link = false;
  uint64_t device = 0;
  uint64_t inode = 0;

  bool SameFile(const NamedFile& other) const { return device == other.device && inode == other.inode; }
};

bool HasWildcard(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

// glob's callback has no argument of its own; the first directory that could not be read is kept here.
struct Unreadable {
  std::string directory;
  int reason = 0;
};
thread_local Unreadable unreadable;

int NoteUnreadable(const char* directory, int reason) {
  // A name in the middle that is missing or no directory is no match, and no error.
  if (reason == ENOENT || reason == ENOTDIR) return 0;
  unreadable = {directory, reason};
  return 1;
}

Result<std::vector<std::string>> Glob(const std::string& pattern) {
  glob_t found{};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, &globfree);
  unreadable = {};
  const int result = glob(pattern.c_str(), GLOB_NOSORT, &NoteUnreadable, &found);
  if (result == GLOB_ABORTED) return IoError("list", unreadable.directory, unreadable.reason, true);
  if (result != 0 && result != GLOB_NOMATCH) return IoError("expand", pattern, ENOMEM, true);
  return std::vector<std::string>(found.gl_pathv, found.gl_pathv + found.gl_pathc);
}

// Looks at one name; nothing if it is a directory that a wildcard matched.
Result<std::vector<NamedFile>> Inspect(const std::string& name, bool by_wildcard) {
  TRAIND_ASSIGN(const FileInfo info, PosixIo().Stat(name));
  switch (info.kind) {
    case FileKind::kMissing:
      return Status(ErrorCode::FILE_NOT_FOUND,
                    by_wildcard ? name + " is a symbolic link that leads nowhere" : "no file " + name);
    case FileKind::kDirectory:
      if (by_wildcard) return std::vector<NamedFile>();
      return Status(ErrorCode::NOT_A_REGULAR_FILE, name + " is a directory",
                    "For the files in it write '" + name + "/*'.");
    case FileKind::kOther:
      return Status(ErrorCode::NOT_A_REGULAR_FILE, name + " is a FIFO, device or socket, not a regular file");
    case FileKind::kRegular:
      break;
  }
  struct stat link {};
  const bool is_link = lstat(name.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  return std::vector<NamedFile>{{name, is_link, info.device, info.inode}};
}

std::vector<std::string> DistinctNames(std::vector<NamedFile> files) {
  std::ranges::sort(files, [](const NamedFile& a, const NamedFile& b) {
    return std::tie(a.device, a.inode, a.is_link, a.name) < std::tie(b.device, b.inode, b.is_link, b.name);
  });
  const auto same = [](const NamedFile& a, const NamedFile& b) { return a.SameFile(b); };
  files.erase(std::unique(files.begin(), files.end(), same), files.end());
  std::vector<std::string> names;
  names.reserve(files.size());
  for (NamedFile& file : files) names.push_back(std::move(file.name));
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<std::vector<std::string>> ExpandFiles(const std::string& pattern) {
  if (pattern.find('\0') != std::string::npos || pattern.size() > static_cast<size_t>(kMaxPathBytes)) {
    return Status(ErrorCode::FILE_NOT_FOUND, "a path of " + std::to_string(pattern.size()) +
                                                 " bytes, or with a NUL in it, names no file; the limit is " +
                                                 std::to_string(kMaxPathBytes) + " bytes");
  }
  bool by_wildcard = HasWildcard(pattern);
  std::vector<std::string> names = {pattern};
  if (by_wildcard) {
    TRAIND_ASSIGN(const FileInfo plain, PosixIo().Stat(pattern));
    by_wildcard = plain.kind == FileKind::kMissing;
    if (by_wildcard) {
      TRAIND_ASSIGN(names, Glob(pattern));
    }
  }
  std::vector<NamedFile> files;
  for (const std::string& name : names) {
    TRAIND_ASSIGN(const std::vector<NamedFile> found, Inspect(name, by_wildcard));
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty()) return Status(ErrorCode::FILE_NOT_FOUND, "no file matches " + pattern);
  if (files.size() > static_cast<size_t>(kMaxDatasetFiles)) {
    return Status(ErrorCode::INVALID_OPTION, pattern + " matches " + std::to_string(files.size()) +
                                                 " files; the limit is " + std::to_string(kMaxDatasetFiles));
  }
  return DistinctNames(std::move(files));
}

}  // namespace traind
