// A layer under SQLite that keeps a checksum in every page of a database file.
#include "daemon/catalog/checksum_vfs.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "engine/base/checksum.h"

namespace traind::daemon {
namespace {

constexpr int kSmallestPage = 512;
constexpr int kReserveOffset = 20;  // of the header's byte that says how much each page keeps in reserve

// What SQLite allocates for an open database file: our part, then the base's.
struct ChecksumFile {
  sqlite3_file base;
  bool checked;  // its pages have the reserve
};

sqlite3_file* RealFile(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<ChecksumFile*>(file) + 1);
}

ChecksumFile* OurFile(sqlite3_file* file) {
  return reinterpret_cast<ChecksumFile*>(file);
}

sqlite3_vfs* RealVfs(sqlite3_vfs* vfs) {
  return static_cast<sqlite3_vfs*>(vfs->pAppData);
}

// Whole pages only: SQLite also reads the header's first bytes alone.
bool IsPage(int amount, sqlite3_int64 offset) {
  return amount >= kSmallestPage && (amount & (amount - 1)) == 0 && offset % amount == 0;
}

// Eight bytes of the page's content and its offset.
void ChecksumOf(const void* page, int amount, sqlite3_int64 offset, char out[kChecksumBytes]) {
  ChecksumStream stream;
  const std::string_view content(static_cast<const char*>(page),
                                 static_cast<size_t>(amount - kChecksumBytes));
  stream.Update(content);
  stream.Update(std::string_view(reinterpret_cast<const char*>(&offset), sizeof offset));
  const std::string hex = stream.Hex();
  for (size_t i = 0; i < kChecksumBytes; ++i) {
    const auto digit = [&](size_t at) { return hex[at] <= '9' ? hex[at] - '0' : hex[at] - 'a' + 10; };
    out[i] = static_cast<char>(digit(2 * i) << 4 | digit(2 * i + 1));
  }
}

// The reserve stands in the file's own header: in its first page.
void NoteHeader(ChecksumFile* file, const void* buffer, int amount, sqlite3_int64 offset) {
  if (offset != 0 || amount <= kReserveOffset) return;
  file->checked = static_cast<const unsigned char*>(buffer)[kReserveOffset] == kChecksumBytes;
}

// In SQLite's memory, and so in the log, the reserve is zero. A page that is zero there on disk was copied
// from the log by a program without this layer (an sqlite3 shell after a crash): it is taken as it is.
int Read(sqlite3_file* file, void* buffer, int amount, sqlite3_int64 offset) {
  sqlite3_file* real = RealFile(file);
  const int code = real->pMethods->xRead(real, buffer, amount, offset);
  if (code != SQLITE_OK) return code;
  NoteHeader(OurFile(file), buffer, amount, offset);
  if (!OurFile(file)->checked || !IsPage(amount, offset)) return SQLITE_OK;
  constexpr char kNone[kChecksumBytes] = {};
  char expected[kChecksumBytes];
  ChecksumOf(buffer, amount, offset, expected);
  char* kept = static_cast<char*>(buffer) + amount - kChecksumBytes;
  const bool matches = std::memcmp(kept, expected, kChecksumBytes) == 0;
  const bool unchecked = std::memcmp(kept, kNone, kChecksumBytes) == 0;
  if (!matches && !unchecked) return SQLITE_IOERR_DATA;
  std::memset(kept, 0, kChecksumBytes);
  return SQLITE_OK;
}

int Write(sqlite3_file* file, const void* buffer, int amount, sqlite3_int64 offset) {
  sqlite3_file* real = RealFile(file);
  NoteHeader(OurFile(file), buffer, amount, offset);
  if (!OurFile(file)->checked || !IsPage(amount, offset)) {
    return real->pMethods->xWrite(real, buffer, amount, offset);
  }
  std::vector<char> page(static_cast<const char*>(buffer), static_cast<const char*>(buffer) + amount);
  ChecksumOf(buffer, amount, offset, page.data() + amount - kChecksumBytes);
  return real->pMethods->xWrite(real, page.data(), amount, offset);
}

// The rest is the base's.
int Close(sqlite3_file* file) {
  return RealFile(file)->pMethods->xClose(RealFile(file));
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  return RealFile(file)->pMethods->xTruncate(RealFile(file), size);
}
int Sync(sqlite3_file* file, int flags) {
  return RealFile(file)->pMethods->xSync(RealFile(file), flags);
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return RealFile(file)->pMethods->xFileSize(RealFile(file), size);
}
int Lock(sqlite3_file* file, int level) {
  return RealFile(file)->pMethods->xLock(RealFile(file), level);
}
int Unlock(sqlite3_file* file, int level) {
  return RealFile(file)->pMethods->xUnlock(RealFile(file), level);
}
int CheckReservedLock(sqlite3_file* file, int* result) {
  return RealFile(file)->pMethods->xCheckReservedLock(RealFile(file), result);
}
int FileControl(sqlite3_file* file, int operation, void* argument) {
  return RealFile(file)->pMethods->xFileControl(RealFile(file), operation, argument);
}
int SectorSize(sqlite3_file* file) {
  return RealFile(file)->pMethods->xSectorSize(RealFile(file));
}
int DeviceCharacteristics(sqlite3_file* file) {
  return RealFile(file)->pMethods->xDeviceCharacteristics(RealFile(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
  return RealFile(file)->pMethods->xShmMap(RealFile(file), page, size, extend, memory);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return RealFile(file)->pMethods->xShmLock(RealFile(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) {
  RealFile(file)->pMethods->xShmBarrier(RealFile(file));
}
int ShmUnmap(sqlite3_file* file, int remove) {
  return RealFile(file)->pMethods->xShmUnmap(RealFile(file), remove);
}

// Version 2: with shared memory for the log, without mapped pages, which could not be compared.
constexpr sqlite3_io_methods kMethods = {2,
                                         Close,
                                         Read,
                                         Write,
                                         Truncate,
                                         Sync,
                                         FileSize,
                                         Lock,
                                         Unlock,
                                         CheckReservedLock,
                                         FileControl,
                                         SectorSize,
                                         DeviceCharacteristics,
                                         ShmMap,
                                         ShmLock,
                                         ShmBarrier,
                                         ShmUnmap,
                                         nullptr,
                                         nullptr};

// Logs and temporary files are opened as the base's own, in the memory that SQLite gives.
int Open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  sqlite3_vfs* real = RealVfs(vfs);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return real->xOpen(real, name, file, flags, out_flags);
  *OurFile(file) = {};
  RealFile(file)->pMethods = nullptr;
  const int code = real->xOpen(real, name, RealFile(file), flags, out_flags);
  if (RealFile(file)->pMethods != nullptr) file->pMethods = &kMethods;
  return code;
}
int Delete(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  return RealVfs(vfs)->xDelete(RealVfs(vfs), name, sync_directory);
}
int Access(sqlite3_vfs* vfs, const char* name, int flags, int* result) {
  return RealVfs(vfs)->xAccess(RealVfs(vfs), name, flags, result);
}
int FullPathname(sqlite3_vfs* vfs, const char* name, int size, char* out) {
  return RealVfs(vfs)->xFullPathname(RealVfs(vfs), name, size, out);
}
int Randomness(sqlite3_vfs* vfs, int size, char* out) {
  return RealVfs(vfs)->xRandomness(RealVfs(vfs), size, out);
}
int Sleep(sqlite3_vfs* vfs, int microseconds) {
  return RealVfs(vfs)->xSleep(RealVfs(vfs), microseconds);
}
int CurrentTime(sqlite3_vfs* vfs, double* days) {
  return RealVfs(vfs)->xCurrentTime(RealVfs(vfs), days);
}
int GetLastError(sqlite3_vfs* vfs, int size, char* out) {
  return RealVfs(vfs)->xGetLastError(RealVfs(vfs), size, out);
}

// SQLite keeps the pointers: they live for ever.
struct Registration {
  std::string name;
  sqlite3_vfs vfs{};
};

Status Register(sqlite3_vfs* real, Registration* registration) {
  sqlite3_vfs& vfs = registration->vfs;
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(ChecksumFile)) + real->szOsFile;
  vfs.mxPathname = real->mxPathname;
  vfs.zName = registration->name.c_str();
  vfs.pAppData = real;
  vfs.xOpen = Open;
  vfs.xDelete = Delete;
  vfs.xAccess = Access;
  vfs.xFullPathname = FullPathname;
  vfs.xRandomness = Randomness;
  vfs.xSleep = Sleep;
  vfs.xCurrentTime = CurrentTime;
  vfs.xGetLastError = GetLastError;
  if (sqlite3_vfs_register(&vfs, 0) == SQLITE_OK) return {};
  return {ErrorCode::INTERNAL, "SQLite does not take the checksum layer"};
}

}  // namespace

Result<std::string> ChecksumVfs(const std::string& base) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Registration>> registered;
  const std::lock_guard lock(mutex);
  sqlite3_vfs* real = sqlite3_vfs_find(base.empty() ? nullptr : base.c_str());
  if (real == nullptr)
    return Status(ErrorCode::INTERNAL, fmt::format("SQLite knows no file system layer {}", base));
  auto& registration = registered[base];
  if (registration == nullptr) {
    auto made = std::make_unique<Registration>();
    made->name = fmt::format("traind-checksum-{}", real->zName);
    TRAIND_TRY(Register(real, made.get()));
    registration = std::move(made);
  }
  return registration->name;
}

}  // namespace traind::daemon
