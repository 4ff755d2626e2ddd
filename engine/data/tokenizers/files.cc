// Finds, opens and stores tokenizers.
#include "engine/data/tokenizers/files.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/publish.h"
#include "engine/data/tokenizers/hf_tokenizer.h"
#include "engine/data/tokenizers/sentencepiece.h"

namespace traind::data {
namespace {

constexpr int64_t kMostConfigBytes = 4 << 20;

Result<bool> IsFile(Io& io, const std::string& path) {
  TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
  return info.kind == FileKind::kRegular;
}

// Size and kind before anything is read.
Result<std::string> ReadLimited(Io& io, const std::string& path, int64_t most) {
  TRAIND_ASSIGN(const FileInfo info, io.Stat(path));
  if (info.kind == FileKind::kRegular && info.bytes > most) {
    return Status(ErrorCode::DAMAGED_TOKENIZER,
                  fmt::format("{}: has {} bytes; the limit is {}", path, info.bytes, most));
  }
  return ReadWholeFile(io, path, most);
}

std::string Neighbour(const std::string& path, std::string_view name) {
  return path.substr(0, path.rfind('/') + 1) + std::string(name);
}

// "eos_token" is a string, or an object with its "content".
std::string EndOfTextOf(const std::string& config) {
  const auto object = ParseJson(config);
  if (!object.ok() || !object->is_object()) return {};
  auto token = object->find("eos_token");
  if (token == object->end()) return {};
  if (token->is_string()) return token->get<std::string>();
  const auto content = GetStringOr(*token, "content", "");
  return token->is_object() && content.ok() ? *content : std::string();
}

Status Named(const Status& status, const std::string& where) {
  return Status(status.code(), fmt::format("{}: {}", where, status.message()), status.hint());
}

std::string Config(const TokenizerFiles& files, const Tokenizer& tokenizer) {
  OrderedJson config;
  config["tokenizer_class"] = files.name == kSentencePieceName ? "LlamaTokenizer" : "PreTrainedTokenizerFast";
  if (!tokenizer.prefix().empty()) config["bos_token"] = tokenizer.BytesOf(tokenizer.prefix().front());
  config["eos_token"] = tokenizer.BytesOf(tokenizer.end_of_text());
  config["clean_up_tokenization_spaces"] = false;
  return DumpJson(config, 2) + "\n";
}

Status WriteSynced(Io& io, const std::string& path, std::string_view content) {
  TRAIND_ASSIGN(const std::unique_ptr<WritableFile> file, io.Create(path));
  TRAIND_TRY(file->Append(std::as_bytes(std::span(content))));
  TRAIND_TRY(file->Sync());
  return file->Close();
}

}  // namespace

Result<TokenizerFiles> ReadTokenizerFiles(Io& io, const std::string& where) {
  std::string path = where;
  TRAIND_ASSIGN(const FileInfo info, io.Stat(where));
  if (info.kind == FileKind::kDirectory) {
    path = fmt::format("{}/{}", where, kTokenizerName);
    TRAIND_ASSIGN(const bool is_json, IsFile(io, path));
    if (!is_json) path = fmt::format("{}/{}", where, kSentencePieceName);
    TRAIND_ASSIGN(const bool is_there, IsFile(io, path));
    if (!is_there) {
      return Status(ErrorCode::FILE_NOT_FOUND,
                    fmt::format("{} holds neither {} nor {}", where, kTokenizerName, kSentencePieceName));
    }
  }
  TokenizerFiles files;
  files.name = path.ends_with(".model") ? kSentencePieceName : kTokenizerName;
  TRAIND_ASSIGN(files.content, ReadLimited(io, path, kMaxTokenizerBytes));
  const std::string config = Neighbour(path, kTokenizerConfigName);
  TRAIND_ASSIGN(const bool has_config, IsFile(io, config));
  if (!has_config) return files;
  TRAIND_ASSIGN(files.config, ReadLimited(io, config, kMostConfigBytes));
  return files;
}

Result<std::unique_ptr<Tokenizer>> MakeTokenizer(const TokenizerFiles& files, std::string_view end_of_text,
                                                 const std::string& where) {
  if (files.name == kSentencePieceName) {
    auto made = MakeSentencePiece(files.content);
    return made.ok() ? std::move(made) : Named(made.status(), where);
  }
  const std::string end = end_of_text.empty() ? EndOfTextOf(files.config) : std::string(end_of_text);
  Result<HfParts> parts = ParseHfTokenizer(files.content, end);
  if (!parts.ok()) return Named(parts.status(), where);
  return std::unique_ptr<Tokenizer>(std::make_unique<HfTokenizer>(*std::move(parts)));
}

Status StoreTokenizer(Io& io, const std::string& directory, std::string_view unique, TokenizerFiles files,
                      const Tokenizer& tokenizer) {
  if (EndOfTextOf(files.config) != tokenizer.BytesOf(tokenizer.end_of_text())) {
    files.config = Config(files, tokenizer);
  }
  const std::string temporary = TemporaryName(directory, unique);
  TRAIND_TRY(io.RemoveTree(temporary));
  TRAIND_TRY(io.MakeDirectories(temporary));
  Status written = WriteSynced(io, fmt::format("{}/{}", temporary, files.name), files.content);
  if (written.ok()) {
    written = WriteSynced(io, fmt::format("{}/{}", temporary, kTokenizerConfigName), files.config);
  }
  if (written.ok()) return PublishDirectory(io, temporary, directory);
  (void)io.RemoveTree(temporary);
  return written;
}

// Of tokenizer.h: the one place that knows all kinds.
Result<std::unique_ptr<Tokenizer>> OpenTokenizer(Io& io, const std::string& where) {
  if (where.empty() || where == kByteTokenizer) return MakeByteTokenizer();
  TRAIND_ASSIGN(const TokenizerFiles files, ReadTokenizerFiles(io, where));
  return MakeTokenizer(files, {}, where);
}

}  // namespace traind::data
