// What is read, checked and written, in which order.
#include "engine/train/model_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"
#include "engine/format/manifest.h"
#include "engine/format/sharded_weights.h"
#include "engine/plan/parameters.h"
#include "engine/train/deadlines.h"
#include "engine/train/hf_config.h"
#include "engine/train/model_copy.h"

namespace traind::train {
namespace {

using format::ShardedWeights;

// What a model's tokenizer means by begin, end and padding; not part of its specification.
constexpr std::string_view kTokenIds[] = {"bos_token_id", "eos_token_id", "pad_token_id"};

struct Source {
  ModelSpec spec;
  std::string directory;
  std::string original_config;  // as its first maker wrote it; empty for a model made here
  bool hands_on_original = false;
  bool check_only = false;
};

void Begin(std::string_view what, Session* session) {
  session->Doing(what, 0, Deadlines(PaceSeconds{}, 1).Files());
}

std::string PathIn(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

// Runs `fill`; on failure nothing is left of the directory.
Status FillDirectory(Io& io, const std::string& directory, const std::function<Status()>& fill) {
  Status status = io.MakeDirectories(directory);
  if (status.ok()) status = fill();
  if (status.ok()) status = io.SyncDirectory(directory);
  if (status.ok()) return status;
  const Status removed = io.RemoveTree(directory);
  if (!removed.ok()) Log(LogLevel::kWarning, "{}", removed.ToString());
  return status;
}

// Our configuration, with the original's token ids where there is one.
Result<std::string> ConfigOf(const Source& source) {
  if (source.original_config.empty()) return HuggingFaceConfig(source.spec);
  TRAIND_ASSIGN(const Json original, ParseJson(source.original_config));
  OrderedJson config = OrderedJson::parse(HuggingFaceConfig(source.spec));
  for (const std::string_view key : kTokenIds) {
    const auto field = original.find(key);
    config[std::string(key)] = field == original.end() ? OrderedJson() : OrderedJson(*field);
  }
  return DumpJson(config, 2) + "\n";
}

// A model that came with a tokenizer and is read with another.
Status NoticeTokenizer(Io& io, const Source& source, MovedModel* moved) {
  for (const std::string_view name : {"tokenizer.json", "tokenizer.model"}) {
    TRAIND_ASSIGN(const FileInfo info, io.Stat(PathIn(source.directory, name)));
    if (info.kind == FileKind::kMissing || source.spec.tokenizer != "bytes") continue;
    moved->notices.push_back(fmt::format(
        "{} is kept with the version; text that this model is trained on or given is read as bytes", name));
    return Ok();
  }
  return Ok();
}

// Writes all of the model into `directory`.
Result<MovedModel> Move(const Source& source, const std::string& directory, Io& io, Session* session) {
  MovedModel moved;
  moved.spec = source.spec;
  TRAIND_ASSIGN(const ShardedWeights weights, ShardedWeights::Open(io, source.directory));
  const std::vector<plan::Parameter> parameters = plan::ParameterTable(source.spec);
  TRAIND_ASSIGN(const auto places, MatchParameters(weights, parameters));
  moved.parameters = ParameterCount(source.spec);
  moved.bytes = 4 * moved.parameters;
  TRAIND_ASSIGN(const std::string config, ConfigOf(source));
  if (source.hands_on_original) TRAIND_TRY(NoticeTokenizer(io, source, &moved));
  if (source.check_only) return moved;
  ModelCopy copy(io, directory, moved.bytes, session);
  const auto fill = [&]() -> Status {
    TRAIND_TRY(copy.Weights(parameters, places));
    TRAIND_TRY(copy.Text(format::kConfigName, config));
    if (source.hands_on_original) TRAIND_TRY(copy.Text(format::kOriginalConfigName, source.original_config));
    return copy.Files(source.directory, format::kCompanionFiles, kMaxTokenizerFileBytes);
  };
  TRAIND_TRY(FillDirectory(io, directory, fill));
  return moved;
}

Result<std::string> ReadConfig(Io& io, const std::string& path) {
  TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
  if (info.kind == FileKind::kMissing) {
    return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("there is no {}", path),
                  "a model directory has config.json and model.safetensors; save_pretrained writes it");
  }
  return ReadWholeFile(io, path, kMaxConfigBytes);
}

// Errors name the file, and what is no configuration at all is damage to it.
Result<ModelSpec> ReadSpec(const std::string& text, const std::string& path) {
  Result<ModelSpec> spec = ModelFromHuggingFaceConfig(text, path);
  if (spec.ok()) return spec;
  const Status& status = spec.status();
  const bool malformed = status.code() == ErrorCode::MALFORMED_FRAME;
  const bool named = status.message().find(path) != std::string::npos;
  return Status(malformed ? ErrorCode::DAMAGED_FILE : status.code(),
                named ? status.message() : fmt::format("{}: {}", path, status.message()),
                malformed ? "it must be a config.json as transformers writes it" : status.hint());
}

// Nothing may be there but an empty directory, which the rename replaces.
Status CheckFree(Io& io, const std::string& path) {
  const Status taken(ErrorCode::INVALID_OPTION, fmt::format("{} exists; nothing is overwritten", path),
                     "name a directory that does not exist yet, or an empty one");
  TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
  if (info.kind == FileKind::kMissing) return Ok();
  if (info.kind != FileKind::kDirectory) return taken;
  TRAIND_ASSIGN(const auto names, io.List(path));
  return names.empty() ? Ok() : taken;
}

std::string ParentOf(const std::string& path) {
  return path.substr(0, std::max<size_t>(1, path.rfind('/')));
}

// rename(2) replaces an empty directory and nothing else.
Status Publish(Io& io, const std::string& temporary, const std::string& path) {
  Status renamed = io.Rename(temporary, path);
  if (renamed.ok()) return io.SyncDirectory(ParentOf(path));
  const Status removed = io.RemoveTree(temporary);
  if (!removed.ok()) Log(LogLevel::kWarning, "{}", removed.ToString());
  const Status taken = CheckFree(io, path);
  return taken.ok() ? renamed : taken;
}

}  // namespace

Result<MovedModel> ImportModel(const ImportTask& task, Io& io, Session* session) {
  Begin("import", session);
  const std::string path = PathIn(task.source, format::kConfigName);
  Source source;
  source.directory = task.source;
  TRAIND_ASSIGN(source.original_config, ReadConfig(io, path));
  TRAIND_ASSIGN(source.spec, ReadSpec(source.original_config, path));
  source.hands_on_original = true;
  source.check_only = task.check;
  return Move(source, task.target, io, session);
}

Result<MovedModel> ExportModel(const ExportTask& task, Io& io, const std::string& unique, Session* session) {
  Begin("export", session);
  TRAIND_TRY(CheckFree(io, task.target));
  const std::string parent = ParentOf(task.target);
  TRAIND_ASSIGN(const FileInfo parent_info, io.Stat(parent));
  if (parent_info.kind != FileKind::kDirectory) {
    return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("there is no directory {}", parent),
                  "the directory is made, but not those that it lies in");
  }
  Source source;
  source.spec = task.model;
  source.directory = task.weights;
  const std::string original = PathIn(task.weights, format::kOriginalConfigName);
  TRAIND_ASSIGN(const FileInfo original_info, io.Stat(original));
  if (original_info.kind != FileKind::kMissing) {
    TRAIND_ASSIGN(source.original_config, ReadWholeFile(io, original, kMaxConfigBytes));
  }
  const std::string temporary = TemporaryName(task.target, unique);
  TRAIND_ASSIGN(MovedModel moved, Move(source, temporary, io, session));
  TRAIND_TRY(Publish(io, temporary, task.target));
  return moved;
}

}  // namespace traind::train
