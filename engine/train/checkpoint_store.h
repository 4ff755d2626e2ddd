// The checkpoints of one job: which one to go on from, and which ones may go.
//
// Invariants, over any crash: a directory named step-… is complete or, if something damaged it later, found
// so and left alone; once two complete ones exist, two always do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/format/manifest.h"

namespace traind::train {

struct FoundCheckpoint {
  std::string path;
  format::Manifest manifest;
};

// The checkpoint at `path`, or the newest older one beside it, that is complete with every checksum right;
// one that is damaged or cannot be read is logged, skipped and kept. nullopt if there is none.
Result<std::optional<FoundCheckpoint>> FindUsableCheckpoint(Io& io, const std::string& path);

// Before a checkpoint like `wanted` is written in `directory`: what has its name already, if it is intact and
// of the same job, plan and place in the data (an attempt that could not read it came here again; its content
// is the same), so that nothing need be written. Anything else is renamed to "damaged-step-…-<unique>" and
// stays for inspection; then, and where the name is free, nullopt.
Result<std::optional<FoundCheckpoint>> ClaimName(Io& io, const std::string& directory,
                                                 const format::Manifest& wanted, std::string_view unique);

// Of the complete checkpoints up to `saved_step`, which the daemon has acknowledged, keeps the newest `keep`
// (at least 2) and the one with the lowest validation loss measured at its own step (of equals the newest),
// and removes the others: renamed first, so that a crash leaves no half of one under its name.
// Those that `is_trusted` denies (found damaged when the run began) are neither counted nor removed.
Status RemoveOldCheckpoints(Io& io, const std::string& directory, int64_t saved_step, int64_t keep,
                            const std::function<bool(int64_t step)>& is_trusted);

}  // namespace traind::train
