// All file access of daemon and workers goes through Io, so that tests can fail, drop, reorder and tear it.
//
// Paths are absolute. Every failure is a Status that names the operation, the path and the system's reason;
// ENOSPC and EDQUOT are DISK_FULL, the rest IO, FILE_NOT_FOUND, FILE_NOT_READABLE or NOT_A_REGULAR_FILE.
// EINTR and short transfers are finished inside. Descriptors are close-on-exec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace traind {

// A file open for writing. Destruction closes without syncing.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status Append(std::span<const std::byte> bytes) = 0;
  // Durable when OK. After a failure the file is void: it is never retried on the same descriptor.
  virtual Status Sync() = 0;
  virtual Status Close() = 0;
};

// A file open for reading.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual int64_t size() const = 0;
  // Fills `out` from `offset`; DAMAGED_FILE if the file ends before.
  virtual Status ReadAt(int64_t offset, std::span<std::byte> out) const = 0;
};

// A read-only mapping of a whole file; unmapped on destruction.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual std::span<const std::byte> bytes() const = 0;
  // Gives pages that were read back to the page cache: they leave the process's memory and come back when
  // they are read again.
  virtual void ReleasePages() const {}
};

enum class FileKind { kMissing, kRegular, kDirectory, kOther };

struct FileInfo {
  FileKind kind = FileKind::kMissing;
  int64_t bytes = 0;
  int64_t modified_ns = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
};

class Io {
 public:
  virtual ~Io() = default;

  // Creates (mode 0600) or truncates. NOT_A_REGULAR_FILE if a symbolic link, FIFO or device has the name.
  virtual Result<std::unique_ptr<WritableFile>> Create(const std::string& path) = 0;
  // Regular files only; a FIFO or device is refused without being opened for I/O (never a hang).
  virtual Result<std::unique_ptr<ReadableFile>> OpenRead(const std::string& path) = 0;
  virtual Result<std::unique_ptr<MappedFile>> Map(const std::string& path) = 0;
  // Follows symbolic links; kMissing is not an error.
  virtual Result<FileInfo> Stat(const std::string& path) = 0;
  // Names without "." and "..", sorted.
  virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;
  // With parents, mode 0700; OK if it exists. A directory made is durable when OK.
  virtual Status MakeDirectories(const std::string& path) = 0;
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status HardLink(const std::string& from, const std::string& to) = 0;
  virtual Status SyncDirectory(const std::string& path) = 0;
  virtual Status Remove(const std::string& path) = 0;      // a file or an empty directory; OK if missing
  virtual Status RemoveTree(const std::string& path) = 0;  // never follows symbolic links; OK if missing
  // Bytes that this user may still write on the file system of `path`.
  virtual Result<int64_t> FreeBytes(const std::string& path) = 0;
};

// The machine's file system; lives for ever.
Io& PosixIo();

// The whole file; IO, naming the limit, if it is larger than max_bytes.
Result<std::string> ReadWholeFile(Io& io, const std::string& path, int64_t max_bytes);

// Absolute patterns → regular files, sorted by name, each real file once: of several names for one file the
// first that is no symbolic link. `pattern` may hold * ? [ ] in any component; if a file has it as its plain
// name, it means that file. Directories that a wildcard matches are left out; anything else that cannot be
// read as data is an error, never skipped: FILE_NOT_FOUND if nothing matches or a link leads nowhere,
// NOT_A_REGULAR_FILE for a FIFO, device or socket, or a directory named without wildcards, FILE_NOT_READABLE
// for a directory that may not be listed, INVALID_OPTION beyond kMaxDatasetFiles.
Result<std::vector<std::string>> ExpandFiles(const std::string& pattern);

// `path` made absolute against `directory` and lexically normalised; ~ is not expanded.
std::string AbsolutePath(std::string_view directory, std::string_view path);

}  // namespace traind
