// One checkpoint: written so that a crash leaves all of it or nothing, and read back after it was verified.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/format/manifest.h"
#include "engine/spec/task.h"
#include "engine/train/model_state.h"

namespace traind::train {

// What a writer tells while it writes.
struct WriteHooks {
  std::function<Status()> proceed;  // before each piece; an error ends the write with it
  std::function<void()> taken;      // once: nothing of the state is read from now on
};

// Writes `directory`/step-…: every file synced under a temporary name (`unique` is used by no other process
// now), the manifest last, then one rename. `manifest` lacks files and optimizer ranges; they are filled in.
// `rows` become metrics.jsonl. On failure nothing is left but, after a crash, a temporary.
Result<format::Manifest> WriteCheckpoint(Io& io, const std::string& directory, std::string_view unique,
                                         format::Manifest manifest, const ModelState& state,
                                         const std::deque<MetricRow>& rows, const WriteHooks& hooks);

// Reads weights and moments of a checkpoint whose files have been verified against `manifest`.
Status ReadCheckpointState(Io& io, const std::string& path, const format::Manifest& manifest,
                           const ModelState& state, const std::function<void()>& progress);

// The rows of its metrics.jsonl. DAMAGED_CHECKPOINT naming the line.
Result<std::vector<MetricRow>> ReadCheckpointMetrics(Io& io, const std::string& path);

// Bytes of all its files, without the manifest.
int64_t CheckpointBytes(const format::Manifest& manifest);

}  // namespace traind::train
