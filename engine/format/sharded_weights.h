// The weights of a Hugging Face directory: model.safetensors, or the shards that an index names.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/format/safetensors.h"

namespace traind::format {

inline constexpr std::string_view kIndexName = "model.safetensors.index.json";
inline constexpr int64_t kMaxShardIndexBytes = int64_t{16} << 20;
inline constexpr int64_t kMaxShards = 1024;

// All tensors of a directory, whichever file they lie in. Files stay open.
class ShardedWeights {
 public:
  // model.safetensors if it is there, else the files of model.safetensors.index.json. FILE_NOT_FOUND if there
  // is neither, or a shard is missing; FORBIDDEN_PATH for a shard outside the directory; DAMAGED_FILE if the
  // index is malformed, lies beyond its limits, or does not agree with the shards: a tensor that is not where
  // the index says, or that the index does not have, or that two shards have.
  static Result<ShardedWeights> Open(Io& io, const std::string& directory);

  struct Place {
    const SafetensorsFile* file = nullptr;
    const TensorInfo* tensor = nullptr;
  };
  // By name; `file` is nullptr if there is none.
  Place Find(std::string_view name) const;
  const std::map<std::string, Place, std::less<>>& tensors() const { return tensors_; }

  // What messages about all of the weights name: the one file, or the index.
  const std::string& path() const { return path_; }
  int64_t bytes() const;  // of all tensors

 private:
  Status Add(Io& io, const std::string& path);

  std::string path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Place, std::less<>> tensors_;
};

}  // namespace traind::format
