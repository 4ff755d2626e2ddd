// Chooses, sets aside and removes checkpoints.
#include "engine/train/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/publish.h"

namespace traind::train {
namespace {

constexpr int64_t kFewestKept = 2;

Result<format::Manifest> Verify(Io& io, const std::string& path) {
  TRAIND_ASSIGN(format::Manifest manifest, format::ReadCheckpoint(io, path));
  TRAIND_TRY(format::VerifyChecksums(io, path, manifest));
  return manifest;
}

// Whether two manifests are of the same weights: the same bits, by the plan's promise.
bool SameState(const format::Manifest& a, const format::Manifest& b) {
  return a.job == b.job && a.step == b.step && a.seed == b.seed && a.cursor == b.cursor &&
         a.plan_hash == b.plan_hash && a.total_steps == b.total_steps && a.statement == b.statement;
}

// Renamed first, so that a crash leaves no half of it under its name.
Status RemoveWhole(Io& io, const std::string& directory, const std::string& path) {
  const std::string going = TemporaryName(path, "removed");
  TRAIND_TRY(io.RemoveTree(going));
  TRAIND_TRY(io.Rename(path, going));
  TRAIND_TRY(io.SyncDirectory(directory));
  return io.RemoveTree(going);
}

std::string ParentOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

Result<std::optional<FoundCheckpoint>> FindUsableCheckpoint(Io& io, const std::string& path) {
  const std::optional<int64_t> step = format::CheckpointStep(path.substr(path.rfind('/') + 1));
  if (!step) {
    return Status(ErrorCode::NO_SUCH_CHECKPOINT, fmt::format("{} is not named like a checkpoint", path));
  }
  TRAIND_ASSIGN(const auto checkpoints, format::ListCheckpoints(io, ParentOf(path)));
  for (const format::CheckpointDirectory& checkpoint : checkpoints) {
    if (checkpoint.step > *step) continue;
    Result<format::Manifest> manifest = Verify(io, checkpoint.path);
    if (manifest.ok()) return std::optional(FoundCheckpoint{checkpoint.path, *std::move(manifest)});
    Log(LogLevel::kError, "a damaged checkpoint is skipped and kept: {}", manifest.status().message());
  }
  return std::optional<FoundCheckpoint>();
}

Result<std::optional<FoundCheckpoint>> ClaimName(Io& io, const std::string& directory,
                                                 const format::Manifest& wanted, std::string_view unique) {
  const std::string name = format::CheckpointName(wanted.step);
  const std::string path = directory + "/" + name;
  TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
  if (info.kind == FileKind::kMissing) return std::optional<FoundCheckpoint>();
  Result<format::Manifest> there = Verify(io, path);
  if (there.ok() && SameState(*there, wanted)) {
    // Its name may not be durable yet, if the sync after its rename failed.
    TRAIND_TRY(io.SyncDirectory(directory));
    return std::optional(FoundCheckpoint{path, *std::move(there)});
  }
  const std::string aside = fmt::format("{}/damaged-{}-{}", directory, name, unique);
  Log(LogLevel::kWarning, "{} was not gone on from; it is now {}", path, aside);
  TRAIND_TRY(io.Rename(path, aside));
  TRAIND_TRY(io.SyncDirectory(directory));
  return std::optional<FoundCheckpoint>();
}

Status RemoveOldCheckpoints(Io& io, const std::string& directory, int64_t saved_step, int64_t keep,
                            const std::function<bool(int64_t step)>& is_trusted) {
  TRAIND_ASSIGN(const auto checkpoints, format::ListCheckpoints(io, directory));
  std::vector<std::string> complete;  // newest first
  std::string best;
  double best_val_loss = std::numeric_limits<double>::infinity();
  for (const format::CheckpointDirectory& checkpoint : checkpoints) {
    if (checkpoint.step > saved_step || !is_trusted(checkpoint.step)) continue;
    const Result<format::Manifest> manifest = format::ReadCheckpoint(io, checkpoint.path);
    if (!manifest.ok()) continue;
    complete.push_back(checkpoint.path);
    const double val_loss = manifest->own_val_loss().value_or(best_val_loss);
    if (val_loss < best_val_loss) best = checkpoint.path;
    best_val_loss = std::min(best_val_loss, val_loss);
  }
  for (size_t i = static_cast<size_t>(std::max(keep, kFewestKept)); i < complete.size(); ++i) {
    if (complete[i] != best) TRAIND_TRY(RemoveWhole(io, directory, complete[i]));
  }
  return Ok();
}

}  // namespace traind::train
