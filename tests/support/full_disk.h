// A disk that is full while a test says so: nothing more can be written to any file.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/forwarding_io.h"

namespace traind::testing {

class FullDisk : public ForwardingIo {
 public:
  Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    TRAIND_ASSIGN(std::unique_ptr<WritableFile> file, ForwardingIo::Create(path));
    return std::unique_ptr<WritableFile>(std::make_unique<File>(std::move(file), &is_full));
  }
  std::atomic<bool> is_full = false;

 private:
  class File : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> file, const std::atomic<bool>* is_full)
        : file_(std::move(file)), is_full_(is_full) {}
    Status Append(std::span<const std::byte> bytes) override {
      if (*is_full_) return Status(ErrorCode::DISK_FULL, "no space left");
      return file_->Append(bytes);
    }
    Status Sync() override { return file_->Sync(); }
    Status Close() override { return file_->Close(); }

   private:
    std::unique_ptr<WritableFile> file_;
    const std::atomic<bool>* is_full_;
  };
};

}  // namespace traind::testing
