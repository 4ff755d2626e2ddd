// Two passes over the files: one for the key, one to write the tokens if no cache has that key.
#include "engine/data/prepare.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"
#include "engine/data/source.h"
#include "engine/data/tokenize.h"

namespace traind::data {
namespace {

class Preparation {
 public:
  Preparation(Io& io, const DataSpec& data, const PrepareOptions& options)
      : io_(io), data_(data), options_(options) {}

  Result<PreparedData> Run() {
    TRAIND_TRY(io_.MakeDirectories(options_.cache_directory));
    if (std::optional<PreparedData> pinned = OpenPinned()) return *std::move(pinned);
    TRAIND_ASSIGN(sources_, FindSources(io_, data_));
    for (const SourceFile& source : sources_) total_bytes_ += 2 * source.info.bytes;
    TRAIND_TRY(SumAll());
    const std::string key = Key();
    TRAIND_TRY(CheckExpected(key));
    if (std::optional<TokenFile> file = OpenCache(key)) {
      // The cache does not say where a token that is too large stands: the files do.
      if (file->info().largest_token >= options_.vocab_size) TRAIND_TRY(TokenizeTo(""));
      TRAIND_TRY(Report(total_bytes_));
      return Checked({key, *std::move(file)});
    }
    TRAIND_TRY(WriteCache(key));
    TRAIND_ASSIGN(TokenFile file, TokenFile::Open(io_, CachePath(key)));
    return Checked({key, std::move(file)});
  }

 private:
  std::string CachePath(const std::string& key) const {
    return options_.cache_directory + "/" + key + ".tokens";
  }

  Result<PreparedData> Checked(PreparedData data) const {
    const TokenId largest = data.file.info().largest_token;
    if (largest < options_.vocab_size) return data;
    return Status(ErrorCode::TOKEN_OUT_OF_RANGE,
                  fmt::format("data '{}' has token {}; the model's vocab_size is {}", data_.name, largest,
                              options_.vocab_size));
  }

  Status Report(int64_t done_bytes) {
    done_bytes_ = done_bytes;
    return options_.progress ? options_.progress(done_bytes_, total_bytes_) : Ok();
  }

  std::optional<TokenFile> OpenCache(const std::string& key) {
    const std::string path = CachePath(key);
    const Result<FileInfo> info = io_.Stat(path);
    if (info.ok() && info->kind == FileKind::kMissing) return std::nullopt;
    Result<TokenFile> file = TokenFile::Open(io_, path);
    if (file.ok()) return *std::move(file);
    Log(LogLevel::kWarning, "the token cache is made again: {}", file.status().ToString());
    return std::nullopt;
  }

  std::optional<PreparedData> OpenPinned() {
    if (options_.expected_key.empty()) return std::nullopt;
    std::optional<TokenFile> file = OpenCache(options_.expected_key);
    if (!file) return std::nullopt;
    for (const TokenizedFile& source : file->info().files) {
      const Result<FileInfo> now = io_.Stat(source.path);
      if (now.ok() && now->bytes == source.bytes && now->modified_ns == source.modified_ns) continue;
      Log(LogLevel::kInfo, "{} has changed since it was tokenised; the run goes on with what it began with",
          source.path);
    }
    return PreparedData{options_.expected_key, *std::move(file)};
  }

  // The first pass.
  Status SumAll() {
    for (const SourceFile& source : sources_) {
      ChecksumStream checksum;
      TRAIND_TRY(ReadPieces(io_, source, [&](std::string_view piece) {
        checksum.Update(piece);
        return Report(done_bytes_ + std::ssize(piece));
      }));
      files_.push_back({source.path, source.info.bytes, source.info.modified_ns, checksum.Hex(), 0, 0});
    }
    return Ok();
  }

  // Of everything that decides about the tokens.
  std::string Key() const {
    ChecksumStream key;
    key.Update(
        fmt::format("tokens {} {} {}\n", kTokenFileVersion, DataFormatName(data_.format), files_.size()));
    if (IsTokenized(data_.format)) {
      key.Update(fmt::format("width {}\n", WidthFor(options_.vocab_size)));  // tokens are kept no wider
    } else {
      key.Update(options_.tokenizer->key() + "\n");
    }
    if (data_.format == DataFormat::kJsonl) key.Update(data_.text_field + "\n");
    for (const TokenizedFile& file : files_) key.Update(fmt::format("{} {}\n", file.bytes, file.checksum));
    return key.Hex();
  }

  Status CheckExpected(const std::string& key) const {
    if (options_.expected_key.empty() || key == options_.expected_key) return Ok();
    return Status(
        ErrorCode::DATA_CHANGED,
        fmt::format("data '{}' ({} files, {} bytes) is not what this run began with, and the cache {} "
                    "that held it is gone",
                    data_.name, sources_.size(), total_bytes_ / 2, CachePath(options_.expected_key)),
        "restore the files as they were, or start a new run");
  }

  Status WriteCache(const std::string& key) {
    const std::string path = CachePath(key);
    const std::string temporary = TemporaryName(path, options_.unique);
    const Status written = TokenizeTo(temporary);
    if (!written.ok()) {
      const Status removed = io_.Remove(temporary);
      if (!removed.ok()) Log(LogLevel::kWarning, "{}", removed.ToString());
      return written;
    }
    return PublishWrittenFile(io_, temporary, path);
  }

  // The second pass; what it reads must be what was summed.
  Status TokenizeTo(const std::string& path) {
    TokenFileInfo info;
    info.files = files_;
    std::optional<ChecksumStream> checksum;
    int64_t read = 0;  // of the file that is being read
    const TokenizeRequest request{
        data_, sources_, options_,
        [&](size_t file, std::string_view piece) -> Status {
          if (read == 0) checksum.emplace();
          checksum->Update(piece);
          read += std::ssize(piece);
          TRAIND_TRY(Report(done_bytes_ + std::ssize(piece)));
          if (read < files_[file].bytes) return Ok();
          read = 0;
          return checksum->Hex() == files_[file].checksum ? Ok() : FileChanged(sources_[file]);
        },
        [&] { return Report(done_bytes_); }};
    return Tokenize(io_, request, path, &info);
  }

  Io& io_;
  const DataSpec& data_;
  const PrepareOptions& options_;
  std::vector<SourceFile> sources_;
  std::vector<TokenizedFile> files_;
  int64_t done_bytes_ = 0;
  int64_t total_bytes_ = 0;
};

}  // namespace

Result<PreparedData> PrepareData(Io& io, const DataSpec& data, const PrepareOptions& options) {
  return Preparation(io, data, options).Run();
}

int64_t WorkBytes(Io& io, const DataSpec& data) {
  const auto sources = FindSources(io, data);
  int64_t bytes = 0;
  if (!sources.ok()) return bytes;
  for (const SourceFile& source : *sources) bytes += 2 * source.info.bytes;
  return bytes;
}

}  // namespace traind::data
