// A file system layer for SQLite that fails on purpose, and that knows what a power loss would leave.
//
// It passes everything on to the machine's layer and keeps, per file, what was synced and the writes since.
// At a chosen operation it takes a picture of that; the picture is written out with any part of the unsynced
// writes dropped, reordered or torn at a sector, as a disk may. One instance per process; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace traind::testing {

class CrashVfs {
 public:
  static CrashVfs& Instance();  // registers it
  static constexpr const char* kName = "traind-crash";

  // Forgets all files and plans. Operations (writes, truncations, syncs) are counted from here, from 1.
  void Reset();
  // Takes the picture just before operation `number`.
  void CaptureAt(int64_t number);
  bool captured();
  // Operation `number` returns `code` instead, and all later ones too if `for_ever`.
  void FailAt(int64_t number, int code, bool for_ever);
  int64_t operations();

  // Writes the picture (what stands now if none was taken) of the files in `from` into `to`.
  void Restore(const std::string& from, const std::string& to, std::mt19937_64& random);

  // Called by the layer's methods. Not OK: the operation fails so.
  int Pass();
  void Opened(const std::string& path);
  void Written(const std::string& path, std::string bytes, int64_t offset);
  void Truncated(const std::string& path, int64_t size);
  void Synced(const std::string& path);
  void Deleted(const std::string& path);

 private:
  struct Change {
    bool truncates = false;
    int64_t offset = 0;  // or the new size
    std::string bytes;
  };
  struct File {
    std::string synced;
    std::vector<Change> pending;
  };
  static void Apply(const Change& change, std::string* content);

  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::map<std::string, File> picture_;
  int64_t operations_ = 0;
  int64_t capture_at_ = 0;
  bool captured_ = false;
  int64_t fail_at_ = 0;
  int fail_code_ = 0;
  bool fail_for_ever_ = false;
};

}  // namespace traind::testing
