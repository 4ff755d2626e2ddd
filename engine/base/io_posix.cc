// Io over the machine's file system.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <limits>

#include "engine/base/descriptor.h"
#include "engine/base/io.h"
#include "engine/base/io_error.h"

namespace traind {
namespace {

// Repeats a system call that a signal interrupted.
template <typename Call>
auto Retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

FileKind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  return FileKind::kOther;
}

std::string_view DescribeKind(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a symbolic link";
  return "a device";
}

Status NotRegular(std::string_view operation, const std::string& path, mode_t mode) {
  return Status(ErrorCode::NOT_A_REGULAR_FILE, "cannot " + std::string(operation) + " " + path + ": it is " +
                                                   std::string(DescribeKind(mode)) + ", not a regular file");
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  Status Append(std::span<const std::byte> bytes) override {
    TRAIND_TRY(CheckUsable("write"));
    while (!bytes.empty()) {
      const ssize_t written = Retry([&] { return write(descriptor_.get(), bytes.data(), bytes.size()); });
      if (written < 0) return Fail("write", errno);
      if (written == 0) return Fail("write", EIO);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return Ok();
  }

  Status Sync() override {
    TRAIND_TRY(CheckUsable("sync"));
    if (Retry([&] { return fsync(descriptor_.get()); }) != 0) return Fail("sync", errno);
    return Ok();
  }

  Status Close() override {
    TRAIND_TRY(CheckUsable("close"));
    // After EINTR the descriptor is gone on Linux; it is not closed twice.
    if (close(descriptor_.release()) != 0 && errno != EINTR) return IoError("close", path_, errno);
    return Ok();
  }

 private:
  Status CheckUsable(std::string_view operation) const {
    if (!descriptor_.valid()) return IoError(operation, path_, EBADF);
    if (failed_) {
      return Status(ErrorCode::IO,
                    "cannot " + std::string(operation) + " " + path_ + ": an earlier write failed");
    }
    return Ok();
  }

  Status Fail(std::string_view operation, int error_number) {
    failed_ = true;
    return IoError(operation, path_, error_number);
  }

  std::string path_;
  Descriptor descriptor_;
  bool failed_ = false;
};

class PosixReadableFile : public ReadableFile {
 public:
  PosixReadableFile(std::string path, Descriptor descriptor, int64_t size)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  int64_t size() const override { return size_; }

  Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    const int64_t end = offset + static_cast<int64_t>(out.size());
    while (!out.empty()) {
      const ssize_t got = Retry([&] { return pread(descriptor_.get(), out.data(), out.size(), offset); });
      if (got < 0) return IoError("read", path_, errno, true);
      if (got == 0) {
        return Status(ErrorCode::DAMAGED_FILE, path_ + " ends at byte " + std::to_string(offset) +
                                                   ", before byte " + std::to_string(end) +
                                                   " that is to be read");
      }
      offset += got;
      out = out.subspan(static_cast<size_t>(got));
    }
    return Ok();
  }

 private:
  std::string path_;
  Descriptor descriptor_;
  int64_t size_;
};

class PosixMappedFile : public MappedFile {
 public:
  PosixMappedFile(void* address, size_t size) : address_(address), size_(size) {}
  ~PosixMappedFile() override {
    if (size_ > 0) munmap(address_, size_);
  }
  PosixMappedFile(const PosixMappedFile&) = delete;
  PosixMappedFile& operator=(const PosixMappedFile&) = delete;

  std::span<const std::byte> bytes() const override {
    return {static_cast<const std::byte*>(address_), size_};
  }

  void ReleasePages() const override {
    // Only a hint: clean pages of a read-only mapping are dropped, a failure keeps them.
    if (size_ > 0) madvise(address_, size_, MADV_DONTNEED);
  }

 private:
  void* address_;
  size_t size_;
};

struct OpenFile {
  Descriptor descriptor;
  struct stat info;
};

// Opens without waiting for a FIFO's other end, then refuses what is no regular file.
Result<OpenFile> OpenRegular(std::string_view operation, const std::string& path, int flags, bool reading) {
  constexpr mode_t kPrivate = 0600;
  OpenFile file;
  file.descriptor = Descriptor(
      Retry([&] { return open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, kPrivate); }));
  if (!file.descriptor.valid()) {
    const int reason = errno;
    struct stat link {};
    if (reason == ELOOP && lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) &&
        (flags & O_NOFOLLOW) != 0) {
      return NotRegular(operation, path, link.st_mode);
    }
    return IoError(operation, path, reason, reading);
  }
  if (fstat(file.descriptor.get(), &file.info) != 0) return IoError(operation, path, errno, reading);
  if (!S_ISREG(file.info.st_mode)) return NotRegular(operation, path, file.info.st_mode);
  return file;
}

class MachineIo : public Io {
 public:
  Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    TRAIND_ASSIGN(OpenFile file, OpenRegular("create", path, O_WRONLY | O_CREAT | O_NOFOLLOW, false));
    // Truncated only once it is known to be a regular file.
    if (Retry([&] { return ftruncate(file.descriptor.get(), 0); }) != 0)
      return IoError("truncate", path, errno);
    return std::unique_ptr<WritableFile>(
        std::make_unique<PosixWritableFile>(path, std::move(file.descriptor)));
  }

  Result<std::unique_ptr<ReadableFile>> OpenRead(const std::string& path) override {
    TRAIND_ASSIGN(OpenFile file, OpenRegular("open", path, O_RDONLY, true));
    const int64_t size = file.info.st_size;
    return std::unique_ptr<ReadableFile>(
        std::make_unique<PosixReadableFile>(path, std::move(file.descriptor), size));
  }

  Result<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    TRAIND_ASSIGN(const OpenFile file, OpenRegular("open", path, O_RDONLY, true));
    const auto size = static_cast<size_t>(file.info.st_size);
    void* address = nullptr;
    if (size > 0) {
      address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor.get(), 0);
      if (address == MAP_FAILED) return IoError("map", path, errno, true);
    }
    return std::unique_ptr<MappedFile>(std::make_unique<PosixMappedFile>(address, size));
  }

  Result<FileInfo> Stat(const std::string& path) override {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return FileInfo{};
      return IoError("look up", path, errno, true);
    }
    constexpr int64_t kNsPerSecond = 1'000'000'000;
    return FileInfo{KindOf(info.st_mode), info.st_size,
                    int64_t{info.st_mtim.tv_sec} * kNsPerSecond + info.st_mtim.tv_nsec, info.st_dev,
                    info.st_ino};
  }

  Result<std::vector<std::string>> List(const std::string& directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(directory.c_str()), &closedir);
    if (!stream) return IoError("list", directory, errno, true);
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(stream.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return IoError("list", directory, errno, true);
    std::ranges::sort(names);
    return names;
  }

  Status MakeDirectories(const std::string& path) override {
    for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
      const std::string ancestor = path.substr(0, slash);
      if (!ancestor.ends_with('/')) TRAIND_TRY(MakeDirectory(ancestor));
      if (slash == std::string::npos) return Ok();
    }
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) != 0) return IoError("rename", from + " to " + to, errno);
    return Ok();
  }

  Status HardLink(const std::string& from, const std::string& to) override {
    if (link(from.c_str(), to.c_str()) != 0) return IoError("link", from + " as " + to, errno);
    return Ok();
  }

  Status SyncDirectory(const std::string& path) override {
    const Descriptor directory(
        Retry([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK); }));
    if (!directory.valid() || Retry([&] { return fsync(directory.get()); }) != 0) {
      return IoError("sync", path, errno);
    }
    return Ok();
  }

  Status Remove(const std::string& path) override {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) return errno == ENOENT ? Ok() : IoError("remove", path, errno);
    const int result = S_ISDIR(info.st_mode) ? rmdir(path.c_str()) : unlink(path.c_str());
    if (result != 0 && errno != ENOENT) return IoError("remove", path, errno);
    return Ok();
  }

  Status RemoveTree(const std::string& path) override {
    std::error_code reason;
    std::filesystem::remove_all(path, reason);  // by descriptors; never through a symbolic link
    if (reason) return IoError("remove", path, reason.value());
    return Ok();
  }

  Result<int64_t> FreeBytes(const std::string& path) override {
    struct statvfs info {};
    if (Retry([&] { return statvfs(path.c_str(), &info); }) != 0) return IoError("measure", path, errno);
    // Capped, so that a file system that claims more than 2^63 bytes cannot overflow.
    const double bytes = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
    constexpr double kMost = 9.0e18;
    if (bytes > kMost) return static_cast<int64_t>(kMost);
    return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
  }

 private:
  Status MakeDirectory(const std::string& path) {
    constexpr mode_t kPrivate = 0700;
    if (mkdir(path.c_str(), kPrivate) == 0) {
      Status synced = SyncDirectory(ParentOf(path));
      // Or the next call would find it and take it for durable.
      if (!synced.ok()) static_cast<void>(rmdir(path.c_str()));
      return synced;
    }
    const int reason = errno;
    struct stat info {};
    if (stat(path.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) return Ok();
      return Status(ErrorCode::IO,
                    "cannot make the directory " + path + ": it is " +
                        (S_ISREG(info.st_mode) ? "a file" : std::string(DescribeKind(info.st_mode))));
    }
    return IoError("make the directory", path, reason);
  }
};

}  // namespace

Io& PosixIo() {
  static MachineIo io;
  return io;
}

}  // namespace traind
