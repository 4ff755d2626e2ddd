// Linking a version.
#include "daemon/supervisor/version.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/catalog/models.h"
#include "daemon/catalog/tokenizers.h"
#include "engine/base/fault.h"
#include "engine/base/publish.h"
#include "engine/format/manifest.h"

namespace traind::daemon {
namespace {

// What of a checkpoint is the model: all files but the optimizer's, the metrics and the manifest.
bool IsModelFile(const format::Manifest& manifest, const std::string& name) {
  if (name == format::kMetricsName || name == format::kManifestName) return false;
  return std::ranges::find(manifest.optimizer, name, &format::OptimizerRange::file) ==
         manifest.optimizer.end();
}

}  // namespace

std::string VersionDirectory(const std::string& state_directory, int64_t model_id, int64_t version) {
  return fmt::format("{}/models/{}/{}", state_directory, model_id, version);
}

Status RemoveTornImports(Io& io, const std::string& state_directory) {
  const std::string models = state_directory + "/models";
  TRAIND_ASSIGN(const FileInfo info, io.Stat(models));
  return info.kind == FileKind::kDirectory ? RemoveTemporaries(io, models) : Ok();
}

namespace {

// A file that is there, under a name that is free.
Status LinkIfThere(Io& io, const std::string& from, const std::string& to) {
  TRAIND_ASSIGN(const FileInfo source, io.Stat(from));
  TRAIND_ASSIGN(const FileInfo target, io.Stat(to));
  const bool links = source.kind == FileKind::kRegular && target.kind == FileKind::kMissing;
  return links ? io.HardLink(from, to) : Ok();
}

// The tokenizer's files, so that a version is complete without the catalog.
Status LinkTokenizer(Io& io, const std::string& state_directory, const JobRecord& job,
                     const std::string& directory) {
  const std::string tokenizer = TokenizerDirectory(state_directory, job.model_spec.tokenizer_id);
  if (tokenizer.empty()) return Ok();
  TRAIND_ASSIGN(const std::vector<std::string> names, io.List(tokenizer));
  for (const std::string& name : names) {
    TRAIND_TRY(LinkIfThere(io, fmt::format("{}/{}", tokenizer, name), fmt::format("{}/{}", directory, name)));
  }
  return Ok();
}

// What goes with a version besides its model files is handed on from the one that training began with.
Status LinkCompanions(Reader& reader, Io& io, const JobRecord& job, const std::string& directory) {
  TRAIND_ASSIGN(const auto began_from, LookUpVersion(reader, job.model_id, job.from_version));
  if (!began_from) return Ok();
  for (const std::string_view name : format::kCompanionFiles) {
    TRAIND_TRY(
        LinkIfThere(io, fmt::format("{}/{}", began_from->path, name), fmt::format("{}/{}", directory, name)));
  }
  const std::string_view original = format::kOriginalConfigName;
  return LinkIfThere(io, fmt::format("{}/{}", began_from->path, original),
                     fmt::format("{}/{}", directory, original));
}

}  // namespace

Result<PublishedVersion> LinkVersion(Reader& reader, Io& io, const std::string& state_directory,
                                     const JobRecord& job, const CheckpointRecord& checkpoint) {
  TRAIND_ASSIGN(const format::Manifest manifest, format::ReadCheckpoint(io, checkpoint.path));
  TRAIND_ASSIGN(
      const auto row,
      reader.QueryRow("SELECT coalesce(max(version), 0) + 1 FROM main._versions WHERE model_id = ?1",
                      {job.target_model_id}));
  TRAIND_ASSIGN(const auto newest,
                reader.Query("SELECT coalesce(max(version), 0) FROM main._versions WHERE model_id = ?1",
                             {job.target_model_id}));
  PublishedVersion version;
  version.number = std::get<int64_t>(newest.at(0).at(0)) + 1;
  version.path = VersionDirectory(state_directory, job.target_model_id, version.number);
  version.step = checkpoint.step;
  version.tokens = manifest.tokens;
  version.val_loss = manifest.val_loss;

  const std::string parent = fmt::format("{}/models/{}", state_directory, job.target_model_id);
  TRAIND_TRY(io.MakeDirectories(parent));
  TRAIND_TRY(RemoveTemporaries(io, parent));
  TRAIND_TRY(io.RemoveTree(version.path));
  const std::string temporary = TemporaryName(version.path, fmt::format("{}", job.id));
  TRAIND_TRY(io.MakeDirectories(temporary));
  for (const format::ManifestFile& file : manifest.files) {
    if (!IsModelFile(manifest, file.name)) continue;
    TRAIND_TRY(io.HardLink(checkpoint.path + "/" + file.name, temporary + "/" + file.name));
  }
  TRAIND_TRY(LinkTokenizer(io, state_directory, job, temporary));
  TRAIND_TRY(LinkCompanions(reader, io, job, temporary));
  TRAIND_TRY(PassFaultPoint(FaultPoint::version_publish));
  TRAIND_TRY(PublishDirectory(io, temporary, version.path));
  return version;
}

}  // namespace traind::daemon
