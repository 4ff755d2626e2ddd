// A file that lies in memory, for formats that are read from any ReadableFile.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/io.h"

namespace traind::testing {

class MemoryFile : public ReadableFile {
 public:
  explicit MemoryFile(std::string content) : content_(std::move(content)) {}

  int64_t size() const override { return std::ssize(content_); }
  Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    if (offset < 0 || offset + std::ssize(out) > size()) {
      return Status(ErrorCode::DAMAGED_FILE, "read beyond the end");
    }
    std::copy_n(reinterpret_cast<const std::byte*>(content_.data()) + offset, out.size(), out.data());
    return Ok();
  }

 private:
  std::string content_;
};

}  // namespace traind::testing
