// Copying a model's weights and files from one directory into another, in pieces.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/format/sharded_weights.h"
#include "engine/plan/parameters.h"
#include "engine/train/session.h"

namespace traind::train {

// Where each parameter lies in some weights, in the order of the table. DAMAGED_FILE if one is missing, is
// there under two names, has another shape or holds no weights, or if there is a tensor besides that is
// neither a buffer nor the second copy of a tied head.
Result<std::vector<format::ShardedWeights::Place>> MatchParameters(
    const format::ShardedWeights& weights, const std::vector<plan::Parameter>& parameters);

// Fills a directory file by file, telling the session what is done of `total_bytes`.
class ModelCopy {
 public:
  ModelCopy(Io& io, std::string directory, int64_t total_bytes, Session* session)
      : io_(io), directory_(std::move(directory)), total_bytes_(total_bytes), session_(session) {}

  // model.safetensors with all parameters as fp32. NON_FINITE, naming file, tensor and place, for weights
  // that are NaN or infinite; INTERRUPTED.
  Status Weights(const std::vector<plan::Parameter>& parameters,
                 const std::vector<format::ShardedWeights::Place>& places);
  Status Text(std::string_view name, std::string_view text);
  // Those of the names that are there. A file larger than `max_bytes` is refused.
  Status Files(const std::string& source, std::span<const std::string_view> names, int64_t max_bytes);

 private:
  Status Tensor(const plan::Parameter& parameter, const format::ShardedWeights::Place& place,
                WritableFile* file);
  Status Done(int64_t bytes);

  Io& io_;
  const std::string directory_;
  const int64_t total_bytes_;
  Session* const session_;
  int64_t done_bytes_ = 0;
  std::vector<float> piece_;
};

}  // namespace traind::train
