// An Io over a file system in memory that can fail at any call and lose power at any call.
//
// What power loss does: what was synced stays. Of the writes to a file since its last sync, any may be
// missing, torn, or there although an earlier one is not; of the changes to a directory's entries since its
// last sync (create, rename, link, remove) any may be missing, a rename as a whole. A failed sync leaves its
// writes for ever unsure. That is more than any real file system permits itself, so what survives here
// survives there.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/base/io.h"

namespace traind::testing {

class CrashIo : public Io {
 public:
  CrashIo();
  ~CrashIo() override;

  // Every operation of Io and of its files is a call; they are counted from 1.
  int64_t calls() const { return calls_; }
  // The call `number` fails with this errno, and all later ones too if `for_ever`. A failing write has
  // written half of its bytes.
  void FailAt(int64_t number, int error_number, bool for_ever = false);
  // The power goes before the call `number`: it and all later ones do nothing but fail.
  void LosePowerAt(int64_t number);

  // The restart: settles, by `seed`, what of the unsynced was there, and ends failures and power loss. Files
  // that are still open are void.
  void Restart(uint64_t seed);

  // The whole content as it is seen now, without counting as a call; nullopt if there is no such file.
  std::optional<std::string> Peek(const std::string& path) const;

  Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override;
  Result<std::unique_ptr<ReadableFile>> OpenRead(const std::string& path) override;
  Result<std::unique_ptr<MappedFile>> Map(const std::string& path) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Status MakeDirectories(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status HardLink(const std::string& from, const std::string& to) override;
  Status SyncDirectory(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status RemoveTree(const std::string& path) override;
  Result<int64_t> FreeBytes(const std::string& path) override;

 private:
  friend class CrashWritableFile;
  friend class CrashReadableFile;
  struct Node;
  using NodePointer = std::shared_ptr<Node>;

  // A directory and the name in it that a path leads to; the directory is null if it does not exist.
  struct Place {
    NodePointer directory;
    std::string name;
  };

  // Counts a call; its failure, if it is to fail.
  Status Call(std::string_view operation, const std::string& path);
  NodePointer Find(const std::string& path) const;
  Place FindPlace(const std::string& path) const;
  NodePointer NewNode(bool is_directory);
  void SetEntry(Node& directory, const std::string& name, NodePointer node);
  Status MakeDirectory(const std::string& path);

  static void SettleEntries(Node& directory, std::mt19937_64& random);
  static void SettleContent(Node& file, std::mt19937_64& random);
  static void Settle(Node& node, std::mt19937_64& random);

  NodePointer root_;
  uint64_t next_inode_ = 1;
  int64_t calls_ = 0;
  uint64_t restarts_ = 0;
  int64_t fail_at_ = 0;
  int fail_errno_ = 0;
  bool fail_for_ever_ = false;
  int64_t power_lost_at_ = 0;
};

}  // namespace traind::testing
