// Writes and reads one checkpoint.
#include "engine/train/checkpoint.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/fault.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"
#include "engine/format/safetensors.h"
#include "engine/format/summed_file.h"
#include "engine/train/hf_config.h"

namespace traind::train {
namespace {

// All ranges are one file while one rank writes.
constexpr std::string_view kOptimizerName = "optimizer-00001-of-00001.safetensors";
constexpr int64_t kMaxMetricsBytes = int64_t{1} << 30;

// Fills a checkpoint's temporary directory, file by file.
class CheckpointWriter {
 public:
  CheckpointWriter(Io& io, std::string directory, const std::function<void()>& progress)
      : io_(io), directory_(std::move(directory)), progress_(progress) {}

  // Writes one file with `fill`, makes it durable and adds it to the manifest.
  Status Add(std::string_view name, const std::function<Status(WritableFile*)>& fill) {
    TRAIND_ASSIGN(std::unique_ptr<WritableFile> target, io_.Create(directory_ + "/" + std::string(name)));
    format::SummedFile file(std::move(target), progress_);
    TRAIND_TRY(fill(&file));
    TRAIND_TRY(file.Sync());
    TRAIND_TRY(file.Close());
    files_.push_back(file.Entry(std::string(name)));
    progress_();
    return PassFaultPoint(FaultPoint::checkpoint_shard);
  }

  Status AddText(std::string_view name, std::string_view text) {
    return Add(name, [&](WritableFile* file) { return file->Append(std::as_bytes(std::span(text))); });
  }

  const std::vector<format::ManifestFile>& files() const { return files_; }

 private:
  Io& io_;
  const std::string directory_;
  const std::function<void()>& progress_;
  std::vector<format::ManifestFile> files_;
};

std::string MetricsText(const std::deque<MetricRow>& rows) {
  std::string text;
  for (const MetricRow& row : rows) text += DumpJson(MetricRowToJson(row)) + "\n";
  return text;
}

Status WriteFiles(CheckpointWriter* writer, const ModelState& state, const std::deque<MetricRow>& rows) {
  const auto weights = WeightTensors(state);
  TRAIND_TRY(writer->Add(format::kWeightsName,
                         [&](WritableFile* file) { return format::WriteSafetensors(weights, file); }));
  TRAIND_TRY(writer->AddText(format::kConfigName, HuggingFaceConfig(state.spec)));
  const int64_t elements = std::ssize(state.moment_1);
  const format::TensorToWrite moments[] = {{std::string(kMoment1Tensor), {elements}, {state.moment_1}},
                                           {std::string(kMoment2Tensor), {elements}, {state.moment_2}}};
  TRAIND_TRY(writer->Add(kOptimizerName,
                         [&](WritableFile* file) { return format::WriteSafetensors(moments, file); }));
  return writer->AddText(format::kMetricsName, MetricsText(rows));
}

Status WriteManifest(Io& io, const std::string& directory, const format::Manifest& manifest) {
  TRAIND_TRY(PassFaultPoint(FaultPoint::checkpoint_manifest));
  const std::string text = format::ManifestToText(manifest);
  TRAIND_ASSIGN(const std::unique_ptr<WritableFile> file,
                io.Create(directory + "/" + std::string(format::kManifestName)));
  TRAIND_TRY(file->Append(std::as_bytes(std::span(text))));
  TRAIND_TRY(file->Sync());
  return file->Close();
}

Status WriteInto(Io& io, const std::string& temporary, const std::string& path, format::Manifest* manifest,
                 const ModelState& state, const std::deque<MetricRow>& rows,
                 const std::function<void()>& progress) {
  TRAIND_TRY(io.MakeDirectories(temporary));
  CheckpointWriter writer(io, temporary, progress);
  TRAIND_TRY(WriteFiles(&writer, state, rows));
  manifest->files = writer.files();
  manifest->optimizer = {{std::string(kOptimizerName), 0, std::ssize(state.moment_1)}};
  TRAIND_TRY(WriteManifest(io, temporary, *manifest));
  return PublishDirectory(io, temporary, path);
}

}  // namespace

Result<format::Manifest> WriteCheckpoint(Io& io, const std::string& directory, std::string_view unique,
                                         format::Manifest manifest, const ModelState& state,
                                         const std::deque<MetricRow>& rows,
                                         const std::function<void()>& progress) {
  const std::string path = directory + "/" + format::CheckpointName(manifest.step);
  const std::string temporary = TemporaryName(path, unique);
  TRAIND_TRY(io.RemoveTree(temporary));
  const Status written = WriteInto(io, temporary, path, &manifest, state, rows, progress);
  if (written.ok()) return manifest;
  const Status removed = io.RemoveTree(temporary);
  if (!removed.ok()) Log(LogLevel::kWarning, "{}", removed.ToString());
  return written;
}

Status ReadCheckpointState(Io& io, const std::string& path, const format::Manifest& manifest,
                           const ModelState& state, const std::function<void()>& progress) {
  TRAIND_TRY(ReadWeights(io, path, state, progress));
  return ReadMoments(io, path, manifest, state, progress);
}

Result<std::vector<MetricRow>> ReadCheckpointMetrics(Io& io, const std::string& path) {
  const std::string file = path + "/" + std::string(format::kMetricsName);
  TRAIND_ASSIGN(const std::string text, ReadWholeFile(io, file, kMaxMetricsBytes));
  std::vector<MetricRow> rows;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const Result<Json> object = ParseJson(std::string_view(text).substr(begin, end - begin));
    Result<MetricRow> row = object.ok() ? MetricRowFromJson(*object) : Result<MetricRow>(object.status());
    if (!row.ok()) {
      return Status(ErrorCode::DAMAGED_CHECKPOINT,
                    fmt::format("{}: line {}: {}", file, rows.size() + 1, row.status().message()));
    }
    rows.push_back(*std::move(row));
    begin = end + 1;
  }
  return rows;
}

int64_t CheckpointBytes(const format::Manifest& manifest) {
  int64_t bytes = 0;
  for (const format::ManifestFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

}  // namespace traind::train
