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
constexpr size_t kMetricsPieceBytes = 32 << 10;

// A file whose writer is asked before each piece whether it may go on.
class AskingFile : public WritableFile {
 public:
  AskingFile(std::unique_ptr<WritableFile> file, const WriteHooks& hooks)
      : file_(std::move(file)), hooks_(hooks) {}

  Status Append(std::span<const std::byte> bytes) override {
    TRAIND_TRY(hooks_.proceed());
    return file_->Append(bytes);
  }
  Status Sync() override {
    TRAIND_TRY(hooks_.proceed());
    return file_->Sync();
  }
  Status Close() override { return file_->Close(); }

 private:
  std::unique_ptr<WritableFile> file_;
  const WriteHooks& hooks_;
};

// Fills a checkpoint's temporary directory: files are begun in order, and made durable in the same order.
class CheckpointWriter {
 public:
  CheckpointWriter(Io& io, std::string directory, const WriteHooks& hooks)
      : io_(io), directory_(std::move(directory)), hooks_(hooks) {}

  // Begins a file and writes its content with `fill`.
  Status Fill(std::string_view name, const std::function<Status(WritableFile*)>& fill) {
    TRAIND_ASSIGN(std::unique_ptr<WritableFile> target, io_.Create(directory_ + "/" + std::string(name)));
    open_.push_back({std::string(name), std::make_unique<format::SummedFile>(
                                            std::make_unique<AskingFile>(std::move(target), hooks_))});
    return fill(open_.back().file.get());
  }

  // Makes the files begun so far durable and adds them to the manifest's list.
  Status Settle() {
    for (OpenFile& open : open_) {
      TRAIND_TRY(open.file->Sync());
      TRAIND_TRY(open.file->Close());
      files_.push_back(open.file->Entry(open.name));
      TRAIND_TRY(PassFaultPoint(FaultPoint::checkpoint_shard));
    }
    open_.clear();
    return Ok();
  }

  const std::vector<format::ManifestFile>& files() const { return files_; }

 private:
  struct OpenFile {
    std::string name;
    std::unique_ptr<format::SummedFile> file;
  };

  Io& io_;
  const std::string directory_;
  const WriteHooks& hooks_;
  std::vector<OpenFile> open_;
  std::vector<format::ManifestFile> files_;
};

Status AppendText(std::string_view text, WritableFile* file) {
  return file->Append(std::as_bytes(std::span(text)));
}

// One row a line, in pieces: a run of days may have many.
Status WriteMetrics(const std::deque<MetricRow>& rows, WritableFile* file) {
  std::string text;
  for (const MetricRow& row : rows) {
    text += DumpJson(MetricRowToJson(row)) + "\n";
    if (text.size() < kMetricsPieceBytes) continue;
    TRAIND_TRY(AppendText(text, file));
    text.clear();
  }
  return text.empty() ? Ok() : AppendText(text, file);
}

// The state first and at once, so that training may change it as soon as possible; what makes it durable
// takes longer.
Status WriteFiles(CheckpointWriter* writer, const ModelState& state, const std::deque<MetricRow>& rows,
                  const WriteHooks& hooks) {
  const auto weights = WeightTensors(state);
  TRAIND_TRY(writer->Fill(format::kWeightsName,
                          [&](WritableFile* file) { return format::WriteSafetensors(weights, file); }));
  const int64_t elements = std::ssize(state.moment_1);
  const format::TensorToWrite moments[] = {{std::string(kMoment1Tensor), {elements}, {state.moment_1}},
                                           {std::string(kMoment2Tensor), {elements}, {state.moment_2}}};
  TRAIND_TRY(writer->Fill(kOptimizerName,
                          [&](WritableFile* file) { return format::WriteSafetensors(moments, file); }));
  hooks.taken();
  const std::string config = HuggingFaceConfig(state.spec);
  TRAIND_TRY(writer->Fill(format::kConfigName, [&](WritableFile* file) { return AppendText(config, file); }));
  TRAIND_TRY(
      writer->Fill(format::kMetricsName, [&](WritableFile* file) { return WriteMetrics(rows, file); }));
  return writer->Settle();
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
                 const ModelState& state, const std::deque<MetricRow>& rows, const WriteHooks& hooks) {
  TRAIND_TRY(io.MakeDirectories(temporary));
  CheckpointWriter writer(io, temporary, hooks);
  TRAIND_TRY(WriteFiles(&writer, state, rows, hooks));
  manifest->files = writer.files();
  manifest->optimizer = {{std::string(kOptimizerName), 0, std::ssize(state.moment_1)}};
  TRAIND_TRY(WriteManifest(io, temporary, *manifest));
  return PublishDirectory(io, temporary, path);
}

}  // namespace

Result<format::Manifest> WriteCheckpoint(Io& io, const std::string& directory, std::string_view unique,
                                         format::Manifest manifest, const ModelState& state,
                                         const std::deque<MetricRow>& rows, const WriteHooks& hooks) {
  const std::string path = directory + "/" + format::CheckpointName(manifest.step);
  const std::string temporary = TemporaryName(path, unique);
  TRAIND_TRY(io.RemoveTree(temporary));
  const Status written = WriteInto(io, temporary, path, &manifest, state, rows, hooks);
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
