// What is read, checked and written, in which order.
#include "engine/train/model_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"
#include "engine/data/tokenizers/files.h"
#include "engine/format/manifest.h"
#include "engine/format/sharded_weights.h"
#include "engine/plan/parameters.h"
#include "engine/train/deadlines.h"
#include "engine/train/hf_config.h"
#include "engine/train/make_tokenizer.h"
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
  std::string tokenizer;        // whose files go with it, or empty
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
  if (source.check_only) return moved;
  ModelCopy copy(io, directory, moved.bytes, session);
  const auto fill = [&]() -> Status {
    TRAIND_TRY(copy.Weights(parameters, places));
    TRAIND_TRY(copy.Text(format::kConfigName, config));
    if (source.hands_on_original) TRAIND_TRY(copy.Text(format::kOriginalConfigName, source.original_config));
    TRAIND_TRY(copy.Files(source.directory, format::kCompanionFiles, kMaxTokenizerFileBytes));
    if (source.tokenizer.empty()) return Ok();
    const std::string_view names[] = {data::kTokenizerName, data::kSentencePieceName,
                                      data::kTokenizerConfigName};
    return copy.Files(source.tokenizer, names, kMaxTokenizerFileBytes);
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

// A name of a tokenizer means nothing outside the catalog that the model was exported from.
std::string WithoutTokenizer(const std::string& text) {
  Result<Json> config = ParseJson(text);
  if (!config.ok() || !config->is_object() || config->erase("tokenizer") == 0) return text;
  return DumpJson(*config);
}

// Errors name the file, and what is no configuration at all is damage to it.
Result<ModelSpec> ReadSpec(const std::string& text, const std::string& path) {
  Result<ModelSpec> spec = ModelFromHuggingFaceConfig(WithoutTokenizer(text), path);
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

// Stores the tokenizer that lies beside a model; what cannot be read is no reason to refuse the weights.
Status TakeTokenizer(const ImportTask& task, Io& io, const std::string& unique, MovedModel* moved) {
  bool there = false;
  for (const std::string_view name : {data::kTokenizerName, data::kSentencePieceName}) {
    TRAIND_ASSIGN(const FileInfo info, io.Stat(PathIn(task.source, name)));
    there = there || info.kind != FileKind::kMissing;
  }
  if (!there || task.tokenizer.empty()) return Ok();
  const auto without = [&](std::string_view why) {
    moved->notices.push_back(fmt::format("text for this model is read as bytes: {}", why));
    return Ok();
  };
  Result<data::TokenizerFiles> files = data::ReadTokenizerFiles(io, task.source);
  if (!files.ok()) return without(files.status().message());
  const auto tokenizer = data::MakeTokenizer(*files, "", task.source);
  if (!tokenizer.ok()) return without(tokenizer.status().message());
  if ((*tokenizer)->vocab_size() > moved->spec.vocab_size) {
    return without(fmt::format("its tokenizer has {} tokens, its vocabulary {}", (*tokenizer)->vocab_size(),
                               moved->spec.vocab_size));
  }
  TokenizerFacts facts = FactsOf(*files, **tokenizer);
  if (!task.check)
    TRAIND_TRY(data::StoreTokenizer(io, task.tokenizer, unique, *std::move(files), **tokenizer));
  moved->tokenizer = std::move(facts);
  return Ok();
}

}  // namespace

Result<MovedModel> ImportModel(const ImportTask& task, Io& io, const std::string& unique, Session* session) {
  Begin("import", session);
  const std::string path = PathIn(task.source, format::kConfigName);
  Source source;
  source.directory = task.source;
  TRAIND_ASSIGN(source.original_config, ReadConfig(io, path));
  TRAIND_ASSIGN(source.spec, ReadSpec(source.original_config, path));
  source.hands_on_original = true;
  source.check_only = task.check;
  TRAIND_ASSIGN(MovedModel moved, Move(source, task.target, io, session));
  const Status stored = TakeTokenizer(task, io, unique, &moved);
  if (stored.ok()) return moved;
  const Status removed = io.RemoveTree(task.target);
  if (!removed.ok()) Log(LogLevel::kWarning, "{}", removed.ToString());
  return stored;
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
  source.tokenizer = task.tokenizer;
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
