// Checkpoints that a worker published and nobody heard of: found on disk, and taken into the catalog with the
// metric rows they carry. On a pool thread, when no process of the attempt lives any more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/catalog/catalog.h"
#include "daemon/jobs/jobs.h"
#include "engine/base/io.h"
#include "engine/base/status.h"

namespace traind::daemon {

// "<job.directory>/checkpoints".
std::string CheckpointRoot(const JobRecord& job);

// Adds a row for every complete checkpoint directory newer than the job's newest row, metric rows first.
// Damaged ones are set aside. Returns the number adopted.
Result<int64_t> AdoptCheckpoints(Reader& reader, Catalog& catalog, Io& io, const JobRecord& job, double now);

// The newest complete checkpoint of the job that still is what its manifest says; others are set aside
// on the way. nullopt if there is none.
Result<std::optional<CheckpointRecord>> NewestCheckpoint(Reader& reader, Catalog& catalog, Io& io,
                                                         const JobRecord& job, double now);

// Marks the checkpoint of `step` damaged and moves its directory to another name, with a warning event: it is
// never used and never deleted, and the step can be saved again.
Status SetAsideCheckpoint(Catalog& catalog, Io& io, const JobRecord& job, int64_t step,
                          const std::string& reason, double now);

// Marks the rows beyond the `keep` newest complete checkpoints (at least two) and the one with the lowest
// validation loss (of equals the newest) as removed, as the worker will remove them: within the transaction
// that adds one, before the worker is told that it may remove the directories themselves.
Status MarkSurplus(Transaction& transaction, int64_t job, int64_t keep);

// Removes what workers that died left of checkpoints marked so; not if fewer than two others are whole. While
// no worker of the job lives.
Status RemoveSurplus(Reader& reader, Io& io, const JobRecord& job);

}  // namespace traind::daemon
