// Safetensors files: opened and read tensor by tensor; written in one pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/format/safetensors_header.h"

namespace traind::format {

// A file whose header has been read and checked. Tensors go straight into the caller's memory.
class SafetensorsFile {
 public:
  // DAMAGED_FILE as ReadSafetensorsHeader says, or what Io says.
  static Result<SafetensorsFile> Open(Io& io, const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  // nullptr if there is none of that name.
  const TensorInfo* Find(std::string_view name) const;

  // Reads the named tensor into `out`, as ReadRange; DAMAGED_FILE if it is missing or has another shape.
  Status Read(std::string_view name, std::span<const int64_t> shape, std::span<float> out) const;
  // Reads elements [begin, begin + out.size()) of a tensor of this file as fp32; DAMAGED_FILE if it holds
  // another type than F32, BF16 and F16.
  Status ReadRange(const TensorInfo& tensor, int64_t begin, std::span<float> out) const;

 private:
  SafetensorsFile(std::string path, std::unique_ptr<ReadableFile> file, std::vector<TensorInfo> tensors)
      : path_(std::move(path)), file_(std::move(file)), tensors_(std::move(tensors)) {}

  Status ReadConverted(StoredType type, int64_t offset, std::span<float> out) const;

  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  std::vector<TensorInfo> tensors_;
};

// A tensor to write: its values in row-major order, in one or more pieces (borrowed) that together fill it.
struct TensorToWrite {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<std::span<const float>> pieces;
};

// Appends a whole safetensors file to `file`; neither syncs nor closes it.
Status WriteSafetensors(std::span<const TensorToWrite> tensors, WritableFile* file);

}  // namespace traind::format
