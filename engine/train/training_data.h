// The data of a run, prepared and cut into sequences.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/prepare.h"
#include "engine/data/sequences.h"
#include "engine/format/manifest.h"
#include "engine/spec/task.h"
#include "engine/train/session.h"

namespace traind::train {

struct HeldData {
  data::PreparedData prepared;
  std::optional<data::Sequences> sequences;  // of prepared.file

  DataCounts counts() const;
};

struct TrainingData {
  std::unique_ptr<HeldData> train;
  std::unique_ptr<HeldData> validation;  // null without
};

struct DataRequest {
  std::string cache_directory;
  std::string unique;
  int64_t vocab_size = 0;
  int64_t sequence_length = 0;
  double deadline_seconds = 0;  // of one piece of the work
};

// Prepares one data set, telling the session. INTERRUPTED if the session asks to stop.
Result<std::unique_ptr<HeldData>> PrepareData(Io& io, const DataSpec& spec, const std::string& expected_key,
                                              const DataRequest& request, Session* session);

// Both data sets of a task. `resumed` is the manifest it goes on from, or nullptr: the same job keeps its
// data.
Result<TrainingData> PrepareTrainingData(Io& io, const TrainTask& task, const format::Manifest* resumed,
                                         const DataRequest& request, Session* session);

}  // namespace traind::train
