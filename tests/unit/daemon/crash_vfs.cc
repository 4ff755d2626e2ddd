// A file system layer for SQLite that fails on purpose, and that knows what a power loss would leave.
#include "tests/unit/daemon/crash_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <sstream>

namespace traind::testing {
namespace {

constexpr size_t kSector = 512;

struct CrashFile {
  sqlite3_file base;
  std::string* path;
};

sqlite3_file* Real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<CrashFile*>(file) + 1);
}
const std::string& PathOf(sqlite3_file* file) {
  return *reinterpret_cast<CrashFile*>(file)->path;
}
sqlite3_vfs* RealVfs(sqlite3_vfs* vfs) {
  return static_cast<sqlite3_vfs*>(vfs->pAppData);
}

int Close(sqlite3_file* file) {
  delete reinterpret_cast<CrashFile*>(file)->path;
  return Real(file)->pMethods->xClose(Real(file));
}
int Read(sqlite3_file* file, void* buffer, int amount, sqlite3_int64 offset) {
  return Real(file)->pMethods->xRead(Real(file), buffer, amount, offset);
}
int Write(sqlite3_file* file, const void* buffer, int amount, sqlite3_int64 offset) {
  if (const int code = CrashVfs::Instance().Pass(); code != SQLITE_OK) return code;
  CrashVfs::Instance().Written(PathOf(file), {static_cast<const char*>(buffer), static_cast<size_t>(amount)},
                               offset);
  return Real(file)->pMethods->xWrite(Real(file), buffer, amount, offset);
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = CrashVfs::Instance().Pass(); code != SQLITE_OK) return code;
  CrashVfs::Instance().Truncated(PathOf(file), size);
  return Real(file)->pMethods->xTruncate(Real(file), size);
}
int Sync(sqlite3_file* file, int) {
  if (const int code = CrashVfs::Instance().Pass(); code != SQLITE_OK) {
    return code == SQLITE_IOERR_WRITE ? SQLITE_IOERR_FSYNC : code;
  }
  CrashVfs::Instance().Synced(PathOf(file));
  return SQLITE_OK;  // the machine's own sync would only cost time
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Real(file)->pMethods->xFileSize(Real(file), size);
}
int Lock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xLock(Real(file), level);
}
int Unlock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xUnlock(Real(file), level);
}
int CheckReservedLock(sqlite3_file* file, int* result) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), result);
}
int FileControl(sqlite3_file* file, int operation, void* argument) {
  return Real(file)->pMethods->xFileControl(Real(file), operation, argument);
}
int SectorSize(sqlite3_file*) {
  return static_cast<int>(kSector);
}
int DeviceCharacteristics(sqlite3_file* file) {
  return Real(file)->pMethods->xDeviceCharacteristics(Real(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
  return Real(file)->pMethods->xShmMap(Real(file), page, size, extend, memory);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return Real(file)->pMethods->xShmLock(Real(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) {
  Real(file)->pMethods->xShmBarrier(Real(file));
}
int ShmUnmap(sqlite3_file* file, int remove) {
  return Real(file)->pMethods->xShmUnmap(Real(file), remove);
}
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

int Open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  if (name == nullptr) return RealVfs(vfs)->xOpen(RealVfs(vfs), name, file, flags, out_flags);
  *reinterpret_cast<CrashFile*>(file) = {};
  Real(file)->pMethods = nullptr;
  const int code = RealVfs(vfs)->xOpen(RealVfs(vfs), name, Real(file), flags, out_flags);
  if (Real(file)->pMethods == nullptr) return code;
  reinterpret_cast<CrashFile*>(file)->path = new std::string(name);
  file->pMethods = &kMethods;
  CrashVfs::Instance().Opened(name);
  return code;
}
int Delete(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  CrashVfs::Instance().Deleted(name);
  return RealVfs(vfs)->xDelete(RealVfs(vfs), name, sync_directory);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

sqlite3_vfs* Register() {
  static sqlite3_vfs vfs;
  sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
  vfs = *real;  // its other methods look at no vfs
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(CrashFile)) + real->szOsFile;
  vfs.zName = CrashVfs::kName;
  vfs.pAppData = real;
  vfs.pNext = nullptr;
  vfs.xOpen = Open;
  vfs.xDelete = Delete;
  sqlite3_vfs_register(&vfs, 0);
  return &vfs;
}

}  // namespace

CrashVfs& CrashVfs::Instance() {
  static CrashVfs instance;
  static const sqlite3_vfs* registered = Register();
  (void)registered;
  return instance;
}

void CrashVfs::Reset() {
  const std::lock_guard lock(mutex_);
  files_.clear();
  picture_.clear();
  operations_ = capture_at_ = fail_at_ = 0;
  captured_ = fail_for_ever_ = false;
}

void CrashVfs::CaptureAt(int64_t number) {
  const std::lock_guard lock(mutex_);
  capture_at_ = number;
}

bool CrashVfs::captured() {
  const std::lock_guard lock(mutex_);
  return captured_;
}

void CrashVfs::FailAt(int64_t number, int code, bool for_ever) {
  const std::lock_guard lock(mutex_);
  fail_at_ = number;
  fail_code_ = code;
  fail_for_ever_ = for_ever;
}

int64_t CrashVfs::operations() {
  const std::lock_guard lock(mutex_);
  return operations_;
}

int CrashVfs::Pass() {
  const std::lock_guard lock(mutex_);
  ++operations_;
  if (operations_ == capture_at_) {
    picture_ = files_;
    captured_ = true;
  }
  const bool fails = operations_ == fail_at_ || (fail_for_ever_ && fail_at_ > 0 && operations_ > fail_at_);
  return fails ? fail_code_ : SQLITE_OK;
}

void CrashVfs::Opened(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!files_.contains(path)) files_[path].synced = ReadFile(path);
}
void CrashVfs::Written(const std::string& path, std::string bytes, int64_t offset) {
  const std::lock_guard lock(mutex_);
  files_[path].pending.push_back({false, offset, std::move(bytes)});
}
void CrashVfs::Truncated(const std::string& path, int64_t size) {
  const std::lock_guard lock(mutex_);
  files_[path].pending.push_back({true, size, {}});
}
void CrashVfs::Synced(const std::string& path) {
  const std::lock_guard lock(mutex_);
  File& file = files_[path];
  for (const Change& change : file.pending) Apply(change, &file.synced);
  file.pending.clear();
}
void CrashVfs::Deleted(const std::string& path) {
  const std::lock_guard lock(mutex_);
  files_.erase(path);
}

void CrashVfs::Apply(const Change& change, std::string* content) {
  if (change.truncates) return content->resize(static_cast<size_t>(change.offset));
  const size_t end = static_cast<size_t>(change.offset) + change.bytes.size();
  if (content->size() < end) content->resize(end);
  content->replace(static_cast<size_t>(change.offset), change.bytes.size(), change.bytes);
}

void CrashVfs::Restore(const std::string& from, const std::string& to, std::mt19937_64& random) {
  const std::lock_guard lock(mutex_);
  for (const auto& [path, file] : captured_ ? picture_ : files_) {
    if (!path.starts_with(from + "/")) continue;
    std::string content = file.synced;
    std::vector<Change> reached;
    for (const Change& change : file.pending) {
      const auto fate = random() % 4;
      if (fate == 0) continue;  // dropped
      reached.push_back(change);
      if (fate == 1 && !change.truncates) {  // torn
        reached.back().bytes.resize(change.bytes.size() / kSector * kSector * (random() % 2));
      }
    }
    if (random() % 2 == 0) std::ranges::shuffle(reached, random);
    for (const Change& change : reached) Apply(change, &content);
    std::ofstream(to + path.substr(from.size()), std::ios::binary | std::ios::trunc) << content;
  }
}

}  // namespace traind::testing
