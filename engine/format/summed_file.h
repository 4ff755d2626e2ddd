// A file that is summed while it is written, so that a manifest's sizes and checksums cost no second read.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/io.h"
#include "engine/format/manifest.h"

namespace traind::format {

class SummedFile : public WritableFile {
 public:
  // Calls `after_piece` whenever at most kPieceBytes more were written: how a watcher sees that a long write
  // moves.
  static constexpr size_t kPieceBytes = size_t{16} << 20;

  explicit SummedFile(std::unique_ptr<WritableFile> file, std::function<void()> after_piece = {})
      : file_(std::move(file)), after_piece_(std::move(after_piece)) {}

  Status Append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(kPieceBytes, bytes.size()));
      TRAIND_TRY(file_->Append(piece));
      checksum_.Update(piece);
      bytes_ += std::ssize(piece);
      bytes = bytes.subspan(piece.size());
      if (after_piece_) after_piece_();
    }
    return Ok();
  }
  Status Sync() override { return file_->Sync(); }
  Status Close() override { return file_->Close(); }

  // The manifest's entry for what has been appended.
  ManifestFile Entry(std::string name) const { return {std::move(name), bytes_, checksum_.Hex()}; }

 private:
  std::unique_ptr<WritableFile> file_;
  std::function<void()> after_piece_;
  ChecksumStream checksum_;
  int64_t bytes_ = 0;
};

}  // namespace traind::format
