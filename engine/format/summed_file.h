// A file that is summed while it is written, so that a manifest's sizes and checksums cost no second read.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/io.h"
#include "engine/format/manifest.h"

namespace traind::format {

class SummedFile : public WritableFile {
 public:
  explicit SummedFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  Status Append(std::span<const std::byte> bytes) override {
    checksum_.Update(bytes);
    bytes_ += std::ssize(bytes);
    return file_->Append(bytes);
  }
  Status Sync() override { return file_->Sync(); }
  Status Close() override { return file_->Close(); }

  // The manifest's entry for what has been appended.
  ManifestFile Entry(std::string name) const { return {std::move(name), bytes_, checksum_.Hex()}; }

 private:
  std::unique_ptr<WritableFile> file_;
  ChecksumStream checksum_;
  int64_t bytes_ = 0;
};

}  // namespace traind::format
