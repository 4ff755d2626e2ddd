// The data of a run, prepared and cut into sequences.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/prepare.h"
#include "engine/data/sequences.h"
#include "engine/data/tokenizer.h"
#include "engine/format/manifest.h"
#include "engine/spec/task.h"
#include "engine/train/session.h"

namespace traind::train {

// A mixture's sources, prepared; the sequences of all of them.
struct HeldData {
  std::vector<data::PreparedData> prepared;
  std::vector<double> weights;               // of the sources, or empty: by size
  std::optional<data::Sequences> sequences;  // of the prepared files

  DataCounts counts() const;
  // What a checkpoint's cursor counts in: the sources' keys with their weights.
  std::string key() const;
};

struct TrainingData {
  std::unique_ptr<HeldData> train;
  std::unique_ptr<HeldData> validation;  // null without
};

struct DataRequest {
  std::string cache_directory;
  std::string unique;
  const data::Tokenizer* tokenizer = nullptr;  // borrowed
  int64_t vocab_size = 0;
  int64_t sequence_length = 0;
  int threads = 1;
  double deadline_seconds = 0;  // of one piece of the work
};

// Prepares all sources of a mixture, telling the session. `expected_key` is a HeldData's key(), or empty:
// each source stays what it was then. INTERRUPTED if the session asks to stop.
Result<std::unique_ptr<HeldData>> PrepareData(Io& io, const MixtureSpec& mixture,
                                              const std::string& expected_key, const DataRequest& request,
                                              Session* session);

// Both data sets of a task. `resumed` is the manifest it goes on from, or nullptr: the same job keeps its
// data.
Result<TrainingData> PrepareTrainingData(Io& io, const TrainTask& task, const format::Manifest* resumed,
                                         const DataRequest& request, Session* session);

}  // namespace traind::train
