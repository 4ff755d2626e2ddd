// An Io that hands everything on to the machine's; a test overrides what it wants to disturb.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/io.h"

namespace traind::testing {

class ForwardingIo : public Io {
 public:
  Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    return PosixIo().Create(path);
  }
  Result<std::unique_ptr<ReadableFile>> OpenRead(const std::string& path) override {
    return PosixIo().OpenRead(path);
  }
  Result<std::unique_ptr<MappedFile>> Map(const std::string& path) override { return PosixIo().Map(path); }
  Result<FileInfo> Stat(const std::string& path) override { return PosixIo().Stat(path); }
  Result<std::vector<std::string>> List(const std::string& directory) override {
    return PosixIo().List(directory);
  }
  Status MakeDirectories(const std::string& path) override { return PosixIo().MakeDirectories(path); }
  Status Rename(const std::string& from, const std::string& to) override {
    return PosixIo().Rename(from, to);
  }
  Status HardLink(const std::string& from, const std::string& to) override {
    return PosixIo().HardLink(from, to);
  }
  Status SyncDirectory(const std::string& path) override { return PosixIo().SyncDirectory(path); }
  Status Remove(const std::string& path) override { return PosixIo().Remove(path); }
  Status RemoveTree(const std::string& path) override { return PosixIo().RemoveTree(path); }
  Result<int64_t> FreeBytes(const std::string& path) override { return PosixIo().FreeBytes(path); }
};

}  // namespace traind::testing
