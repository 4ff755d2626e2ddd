// Opens, reads and writes safetensors files.
#include "engine/format/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace traind::format {

Result<SafetensorsFile> SafetensorsFile::Open(Io& io, const std::string& path) {
  TRAIND_ASSIGN(std::unique_ptr<ReadableFile> file, io.OpenRead(path));
  TRAIND_ASSIGN(std::vector<TensorInfo> tensors, ReadSafetensorsHeader(*file, path));
  return SafetensorsFile(path, std::move(file), std::move(tensors));
}

const TensorInfo* SafetensorsFile::Find(std::string_view name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const TensorInfo& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

Status SafetensorsFile::Read(std::string_view name, std::span<const int64_t> shape,
                             std::span<float> out) const {
  const TensorInfo* tensor = Find(name);
  if (tensor == nullptr) {
    return Status(ErrorCode::DAMAGED_FILE, fmt::format("{}: no tensor '{}'", path_, name));
  }
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end()) ||
      static_cast<int64_t>(out.size()) != tensor->elements()) {
    return Status(ErrorCode::DAMAGED_FILE,
                  fmt::format("{}: at byte {}: tensor '{}' has shape [{}]; the model needs [{}]", path_,
                              tensor->offset, name, fmt::join(tensor->shape, ", "), fmt::join(shape, ", ")));
  }
  return ReadRange(*tensor, 0, out);
}

Status SafetensorsFile::ReadRange(const TensorInfo& tensor, int64_t begin, std::span<float> out) const {
  if (begin < 0 || begin > tensor.elements() - static_cast<int64_t>(out.size())) {
    return Status(ErrorCode::DAMAGED_FILE,
                  fmt::format("{}: tensor '{}' has {} elements; {} from {} were asked for", path_,
                              tensor.name, tensor.elements(), out.size(), begin));
  }
  return file_->ReadAt(tensor.offset + 4 * begin, std::as_writable_bytes(out));
}

Status WriteSafetensors(std::span<const TensorToWrite> tensors, WritableFile* file) {
  std::vector<NamedShape> shapes;
  for (const TensorToWrite& tensor : tensors) shapes.push_back({tensor.name, tensor.shape});
  const std::string header = MakeSafetensorsHeader(shapes);
  TRAIND_TRY(file->Append(std::as_bytes(std::span(header))));
  for (const TensorToWrite& tensor : tensors) {
    for (const std::span<const float> piece : tensor.pieces) TRAIND_TRY(file->Append(std::as_bytes(piece)));
  }
  return Ok();
}

}  // namespace traind::format
