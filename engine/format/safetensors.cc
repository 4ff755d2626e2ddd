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
  if (!HoldsWeights(tensor.type)) {
    return Status(ErrorCode::DAMAGED_FILE,
                  fmt::format("{}: at byte {}: tensor '{}' holds neither F32 nor BF16 nor F16", path_,
                              tensor.offset, tensor.name),
                  "weights are read in these types only");
  }
  const int64_t first = tensor.offset + StoredBytes(tensor.type) * begin;
  if (tensor.type == StoredType::kF32) return file_->ReadAt(first, std::as_writable_bytes(out));
  return ReadConverted(tensor.type, first, out);
}

// Half precision, piece by piece.
Status SafetensorsFile::ReadConverted(StoredType type, int64_t offset, std::span<float> out) const {
  constexpr size_t kPieceElements = 65536;
  std::vector<std::byte> stored(2 * std::min(out.size(), kPieceElements));
  while (!out.empty()) {
    const auto piece = out.first(std::min(out.size(), kPieceElements));
    const std::span<std::byte> bytes = std::span(stored).first(2 * piece.size());
    TRAIND_TRY(file_->ReadAt(offset, bytes));
    ConvertToFloat(type, bytes, piece);
    offset += std::ssize(bytes);
    out = out.subspan(piece.size());
  }
  return Ok();
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
