// Publishing a checkpoint as a model's next version: hard links in a directory of its own, so that the
// checkpoint's removal does not touch it. On a pool thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/catalog/catalog.h"
#include "daemon/jobs/jobs.h"
#include "engine/base/io.h"
#include "engine/base/status.h"

namespace traind::daemon {

// "<state>/models/<id>/<version>".
std::string VersionDirectory(const std::string& state_directory, int64_t model_id, int64_t version);

// At start, before any worker: what imports that were cut short have left.
Status RemoveTornImports(Io& io, const std::string& state_directory);

struct PublishedVersion {
  int64_t number = 0;
  std::string path;
  int64_t step = 0;
  int64_t tokens = 0;
  std::optional<double> val_loss;
};

// Links the checkpoint's model files as the target model's next version, with what goes with the version that
// training began from (its tokenizer). Its row comes afterwards: a
// directory without a row, left by a crash between the two, is replaced.
Result<PublishedVersion> LinkVersion(Reader& reader, Io& io, const std::string& state_directory,
                                     const JobRecord& job, const CheckpointRecord& checkpoint);

}  // namespace traind::daemon
