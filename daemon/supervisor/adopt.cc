// The job's checkpoint directory against the job's checkpoint rows.
#include "daemon/supervisor/adopt.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/publish.h"
#include "engine/format/manifest.h"

namespace traind::daemon {
namespace {

constexpr int64_t kMaxMetricsFileBytes = 1LL << 30;
constexpr int64_t kKeptAlways = 2;

int64_t BytesOf(const format::Manifest& manifest) {
  int64_t bytes = 0;
  for (const format::ManifestFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

Result<std::vector<MetricRow>> ReadMetrics(Io& io, const std::string& checkpoint) {
  const std::string path = fmt::format("{}/{}", checkpoint, format::kMetricsName);
  TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
  std::vector<MetricRow> rows;
  if (info.kind == FileKind::kMissing) return rows;
  TRAIND_ASSIGN(const std::string text, ReadWholeFile(io, path, kMaxMetricsFileBytes));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) {
      TRAIND_ASSIGN(const Json line, ParseJson(std::string_view(text).substr(begin, end - begin)));
      TRAIND_ASSIGN(MetricRow row, MetricRowFromJson(line));
      rows.push_back(std::move(row));
    }
    begin = end + 1;
  }
  return rows;
}

Status AdoptOne(Catalog& catalog, Io& io, const JobRecord& job, const format::CheckpointDirectory& directory,
                double now) {
  TRAIND_ASSIGN(const format::Manifest manifest, format::ReadCheckpoint(io, directory.path));
  TRAIND_ASSIGN(std::vector<MetricRow> rows, ReadMetrics(io, directory.path));
  if (!rows.empty()) catalog.SubmitMetrics(job.id, std::move(rows), true);
  return catalog.Write([&](Transaction& transaction) -> Status {
    TRAIND_TRY(AddCheckpoint(transaction, job.id, directory.step, directory.path, BytesOf(manifest),
                             manifest.own_val_loss(), now));
    TRAIND_TRY(MarkSurplus(transaction, job.id, job.training.keep_checkpoints));
    return manifest.total_steps > 0 ? SetTotalSteps(transaction, job.id, manifest.total_steps) : Ok();
  });
}

}  // namespace

std::string CheckpointRoot(const JobRecord& job) {
  return job.directory + "/checkpoints";
}

Result<int64_t> AdoptCheckpoints(Reader& reader, Catalog& catalog, Io& io, const JobRecord& job, double now) {
  TRAIND_ASSIGN(
      const auto known,
      reader.QueryRow("SELECT coalesce(max(step), -1) FROM main._checkpoints WHERE job_id = ?1", {job.id}));
  const int64_t newest = known ? std::get<int64_t>((*known)[0]) : -1;
  TRAIND_ASSIGN(auto directories, format::ListCheckpoints(io, CheckpointRoot(job)));
  std::ranges::reverse(directories);  // oldest first, so that metric rows come in order
  int64_t adopted = 0;
  for (const format::CheckpointDirectory& directory : directories) {
    if (directory.step <= newest) continue;
    const Status status = AdoptOne(catalog, io, job, directory, now);
    if (status.ok()) {
      ++adopted;
    } else if (status.info().error_class == "DATA" || status.code() == ErrorCode::MALFORMED_FRAME) {
      TRAIND_TRY(SetAsideCheckpoint(catalog, io, job, directory.step, status.message(), now));
    } else {
      return status;
    }
  }
  return adopted;
}

Result<std::optional<CheckpointRecord>> NewestCheckpoint(Reader& reader, Catalog& catalog, Io& io,
                                                         const JobRecord& job, double now) {
  TRAIND_ASSIGN(const std::vector<CheckpointRecord> checkpoints, CompleteCheckpoints(reader, job.id));
  for (const CheckpointRecord& checkpoint : checkpoints) {
    const Result<format::Manifest> manifest = format::ReadCheckpoint(io, checkpoint.path);
    if (manifest.ok()) return std::optional<CheckpointRecord>(checkpoint);
    if (manifest.status().info().error_class != "DATA") return manifest.status();
    TRAIND_TRY(SetAsideCheckpoint(catalog, io, job, checkpoint.step, manifest.status().message(), now));
  }
  return std::optional<CheckpointRecord>();
}

Status SetAsideCheckpoint(Catalog& catalog, Io& io, const JobRecord& job, int64_t step,
                          const std::string& reason, double now) {
  const std::string name = format::CheckpointName(step);
  const std::string from = CheckpointRoot(job) + "/" + name;
  const std::string aside =
      fmt::format("{}/damaged-{}-{}", CheckpointRoot(job), name, static_cast<int64_t>(now));
  TRAIND_ASSIGN(const FileInfo info, io.Stat(from));
  if (info.kind != FileKind::kMissing) TRAIND_TRY(io.Rename(from, aside));
  return catalog.Write([&](Transaction& transaction) -> Status {
    TRAIND_TRY(SetCheckpointState(transaction, job.id, step, "damaged"));
    return AddEvent(transaction, job.id, "warning",
                    fmt::format("the checkpoint of step {} is damaged, not used, and kept as {}: {}", step,
                                aside, reason),
                    now);
  });
}

Status MarkSurplus(Transaction& transaction, int64_t job, int64_t keep) {
  return transaction.Run(
      "UPDATE _checkpoints SET state = 'removed' WHERE job_id = ?1 AND state = 'complete' AND step NOT IN "
      "(SELECT step FROM _checkpoints WHERE job_id = ?1 AND state = 'complete' ORDER BY step DESC LIMIT ?2) "
      "AND step NOT IN (SELECT step FROM _checkpoints WHERE job_id = ?1 AND state = 'complete' "
      "AND val_loss IS NOT NULL ORDER BY val_loss, step DESC LIMIT 1)",
      {job, std::max(keep, kKeptAlways)});
}

Status RemoveSurplus(Reader& reader, Io& io, const JobRecord& job) {
  TRAIND_ASSIGN(const auto removed,
                reader.Query("SELECT step FROM main._checkpoints WHERE job_id = ?1 AND state = 'removed' "
                             "ORDER BY step DESC LIMIT 100",
                             {job.id}));
  TRAIND_ASSIGN(const std::vector<CheckpointRecord> complete, CompleteCheckpoints(reader, job.id));
  const auto whole = std::ranges::count_if(complete, [&io](const CheckpointRecord& checkpoint) {
    return format::ReadCheckpoint(io, checkpoint.path).ok();
  });
  if (whole < kKeptAlways) return Ok();
  for (const auto& row : removed) {
    TRAIND_TRY(io.RemoveTree(CheckpointRoot(job) + "/" + format::CheckpointName(std::get<int64_t>(row[0]))));
  }
  return Ok();
}

}  // namespace traind::daemon
