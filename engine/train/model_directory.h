// Hugging Face directories: one comes in as a model's first version, and a version goes out as one.
//
// Both are written as config.json and model.safetensors in fp32, by Hugging Face's names, tensor by tensor
// through a small buffer: no model is ever in memory as a whole. Files of a tokenizer are copied as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/spec/task.h"
#include "engine/train/session.h"

namespace traind::train {

inline constexpr int64_t kMaxConfigBytes = int64_t{1} << 20;
inline constexpr int64_t kMaxTokenizerFileBytes = int64_t{64} << 20;  // each file

struct MovedModel {
  ModelSpec spec;
  std::optional<TokenizerFacts> tokenizer;  // of an import, stored in task.tokenizer
  int64_t parameters = 0;
  int64_t bytes = 0;  // of the weights as written
  std::vector<std::string> notices;
};

// Reads the directory task.source (config.json; model.safetensors or shards; names with or without the
// prefix that Hugging Face's base models lack; a tied head there or not) and fills task.target, a directory
// that does not exist yet, with every file synced. On failure nothing is left of it. Errors as
// ModelFromHuggingFaceConfig (malformed: DAMAGED_FILE) and ShardedWeights::Open have them; DAMAGED_FILE,
// naming file, tensor and offset, for a tensor that is missing, superfluous, of another shape or type than
// the configuration says; INTERRUPTED if the session asks to stop. With task.check all is read but the
// weights' values, and nothing written.
// A tokenizer beside the model is stored too, if it is one that is read and not larger than the model's
// vocabulary; else a notice says why it is not. `unique` is used by no other process now.
Result<MovedModel> ImportModel(const ImportTask& task, Io& io, const std::string& unique, Session* session);

// Writes the version in task.weights as the directory task.target, which does not exist yet or is empty:
// filled under a temporary name beside it (`unique` is used by no other process now), then renamed.
// INVALID_OPTION if something else is there.
Result<MovedModel> ExportModel(const ExportTask& task, Io& io, const std::string& unique, Session* session);

}  // namespace traind::train
