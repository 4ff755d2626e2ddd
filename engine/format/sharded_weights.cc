// Opens the files of a model and holds them against their index.
#include "engine/format/sharded_weights.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>

#include "engine/base/json.h"
#include "engine/base/rooted_path.h"
#include "engine/format/manifest.h"

namespace traind::format {
namespace {

using WeightMap = std::map<std::string, std::string>;  // tensor → file's name

Status Damaged(const std::string& path, std::string_view what) {
  return Status(ErrorCode::DAMAGED_FILE, fmt::format("{}: {}", path, what),
                "the directory is incomplete or was made by something else; write or copy it again");
}

// The index is an object whose "weight_map" leads from tensors to names of files in the same directory.
Result<WeightMap> ReadIndex(Io& io, const std::string& directory, const std::string& path) {
  TRAIND_ASSIGN(const auto file, io.OpenRead(path));
  if (file->size() > kMaxShardIndexBytes) {
    return Damaged(path, fmt::format("it has {} bytes; the limit is {}", file->size(), kMaxShardIndexBytes));
  }
  std::string text(static_cast<size_t>(file->size()), '\0');
  TRAIND_TRY(file->ReadAt(0, std::as_writable_bytes(std::span(text))));
  const Result<Json> index = ParseJson(text);
  if (!index.ok()) return Damaged(path, index.status().message());
  const auto map = index->is_object() ? index->find("weight_map") : index->end();
  if (!index->is_object() || map == index->end() || !map->is_object()) {
    return Damaged(path, "there is no object 'weight_map'");
  }
  WeightMap files;
  for (const auto& [tensor, name] : map->items()) {
    if (!name.is_string()) {
      return Damaged(path, fmt::format("the file of tensor '{}' is no string", tensor.substr(0, 80)));
    }
    const auto file_name = name.get<std::string>();
    if (!RootedPath(directory, {file_name}).ok()) {
      return Status(
          ErrorCode::FORBIDDEN_PATH,
          fmt::format("{}: tensor '{}' is said to lie in '{}', which is no name of a file beside it", path,
                      tensor.substr(0, 80), file_name.substr(0, 80)));
    }
    files.emplace(tensor, file_name);
  }
  if (files.empty()) return Damaged(path, "'weight_map' is empty");
  return files;
}

}  // namespace

Status ShardedWeights::Add(Io& io, const std::string& path) {
  TRAIND_ASSIGN(SafetensorsFile opened, SafetensorsFile::Open(io, path));
  const auto& file = files_.emplace_back(std::make_unique<SafetensorsFile>(std::move(opened)));
  for (const TensorInfo& tensor : file->tensors()) {
    const auto [place, is_new] = tensors_.emplace(tensor.name, Place{file.get(), &tensor});
    if (is_new) continue;
    return Damaged(path, fmt::format("at byte {}: tensor '{}' is in {} too", tensor.offset, tensor.name,
                                     place->second.file->path()));
  }
  return Ok();
}

Result<ShardedWeights> ShardedWeights::Open(Io& io, const std::string& directory) {
  ShardedWeights weights;
  weights.path_ = fmt::format("{}/{}", directory, kWeightsName);
  TRAIND_ASSIGN(const FileInfo single, io.Stat(weights.path_));
  if (single.kind != FileKind::kMissing) {
    TRAIND_TRY(weights.Add(io, weights.path_));
    return weights;
  }
  const std::string index = fmt::format("{}/{}", directory, kIndexName);
  TRAIND_ASSIGN(const FileInfo info, io.Stat(index));
  if (info.kind == FileKind::kMissing) {
    return Status(ErrorCode::FILE_NOT_FOUND,
                  fmt::format("{} has neither {} nor {}", directory, kWeightsName, kIndexName),
                  "weights are read from safetensors files only; save_pretrained writes them");
  }
  weights.path_ = index;
  TRAIND_ASSIGN(const WeightMap files, ReadIndex(io, directory, index));
  std::set<std::string> names;
  for (const auto& [tensor, name] : files) names.insert(name);
  if (std::ssize(names) > kMaxShards) {
    return Damaged(index, fmt::format("it names {} files; the limit is {}", names.size(), kMaxShards));
  }
  for (const std::string& name : names) TRAIND_TRY(weights.Add(io, directory + "/" + name));
  for (const auto& [tensor, name] : files) {
    const Place place = weights.Find(tensor);
    if (place.file == nullptr || place.file->path() != directory + "/" + name) {
      return Damaged(index, fmt::format("tensor '{}' is not in {}, where it is said to lie",
                                        tensor.substr(0, 80), name));
    }
  }
  for (const auto& [tensor, place] : weights.tensors_) {
    if (files.contains(tensor)) continue;
    return Damaged(place.file->path(), fmt::format("at byte {}: tensor '{}' is not in the index",
                                                   place.tensor->offset, tensor.substr(0, 80)));
  }
  return weights;
}

ShardedWeights::Place ShardedWeights::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? Place{} : found->second;
}

int64_t ShardedWeights::bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, place] : tensors_) bytes += place.tensor->bytes;
  return bytes;
}

}  // namespace traind::format
