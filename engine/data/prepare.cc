// Two passes over the text: one for the key, one to write the tokens if no cache has that key.
#include "engine/data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"
#include "engine/data/source.h"
#include "engine/data/tokenizer.h"

namespace traind::data {
namespace {

unsigned char LargestByte(std::string_view text) {
  constexpr size_t kBlock = 64;  // a fixed length, so that the compiler vectorises it
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::array<unsigned char, kBlock> largest{};
  size_t i = 0;
  for (; i + kBlock <= text.size(); i += kBlock) {
    for (size_t k = 0; k < kBlock; ++k) largest[k] = std::max(largest[k], bytes[i + k]);
  }
  for (; i < text.size(); ++i) largest[0] = std::max(largest[0], bytes[i]);
  return *std::max_element(largest.begin(), largest.end());
}

class Preparation {
 public:
  Preparation(Io& io, const DataSpec& data, const PrepareOptions& options)
      : io_(io), data_(data), options_(options) {}

  Result<PreparedData> Run() {
    TRAIND_TRY(io_.MakeDirectories(options_.cache_directory));
    if (std::optional<PreparedData> pinned = OpenPinned()) return *std::move(pinned);
    TRAIND_ASSIGN(sources_, FindSources(io_, data_));
    for (const SourceFile& source : sources_) total_bytes_ += 2 * source.info.bytes;
    TRAIND_TRY(ReadAll());
    const std::string key = Key();
    TRAIND_TRY(CheckExpected(key));
    if (std::optional<TokenFile> file = OpenCache(key)) {
      TRAIND_TRY(Report(total_bytes_));
      return PreparedData{key, *std::move(file)};
    }
    TRAIND_TRY(WriteCache(key));
    TRAIND_ASSIGN(TokenFile file, TokenFile::Open(io_, CachePath(key)));
    return PreparedData{key, std::move(file)};
  }

 private:
  std::string CachePath(const std::string& key) const {
    return options_.cache_directory + "/" + key + ".tokens";
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
    for (const Document& document : file->info().documents) {
      const Result<FileInfo> now = io_.Stat(document.path);
      if (now.ok() && now->bytes == document.bytes && now->modified_ns == document.modified_ns) continue;
      Log(LogLevel::kInfo, "{} has changed since it was tokenised; the run goes on with what it began with",
          document.path);
    }
    return PreparedData{options_.expected_key, *std::move(file)};
  }

  // The first pass: checks the text, sums every file, finds the largest token.
  Status ReadAll() {
    for (const SourceFile& source : sources_) {
      if (info_.tokens > 0) ++info_.tokens;  // the end-of-text between documents
      ChecksumStream checksum;
      Document document{source.path, source.info.bytes, source.info.modified_ns, {}, info_.tokens};
      int64_t offset = 0;
      const auto take = [&](std::string_view text) {
        checksum.Update(text);
        TRAIND_TRY(CheckRange(source, offset, text));
        offset += std::ssize(text);
        return Report(done_bytes_ + std::ssize(text));
      };
      TRAIND_TRY(ReadText(io_, source, take));
      document.checksum = checksum.Hex();
      info_.tokens += source.info.bytes;
      info_.documents.push_back(std::move(document));
    }
    return Ok();
  }

  Status CheckRange(const SourceFile& source, int64_t offset, std::string_view text) {
    info_.largest_token = std::max(info_.largest_token, Token{LargestByte(text)});
    if (info_.largest_token < options_.vocab_size) return Ok();
    const auto first = std::find_if(text.begin(), text.end(), [&](char byte) {
      return static_cast<unsigned char>(byte) >= options_.vocab_size;
    });
    return Status(
        ErrorCode::TOKEN_OUT_OF_RANGE,
        fmt::format("{}: token {} at byte {} is not below the model's vocab_size {}", source.path,
                    static_cast<unsigned char>(*first), offset + (first - text.begin()), options_.vocab_size),
        "the byte tokenizer needs vocab_size = 256 for any text, 128 for ASCII");
  }

  std::string Key() const {
    ChecksumStream key;
    key.Update(fmt::format("tokens {} {} {} {}\n", kTokenFileVersion, kByteTokenizer, kByteTokenizerVersion,
                           info_.documents.size()));
    for (const Document& document : info_.documents) {
      key.Update(fmt::format("{} {}\n", document.bytes, document.checksum));
    }
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

  // The second pass; what it reads must be what was summed.
  Status WriteCache(const std::string& key) {
    const std::string path = CachePath(key);
    const std::string temporary = TemporaryName(path, options_.unique);
    const Status written = WriteTokens(temporary);
    if (!written.ok()) {
      const Status removed = io_.Remove(temporary);
      if (!removed.ok()) Log(LogLevel::kWarning, "{}", removed.ToString());
      return written;
    }
    return PublishWrittenFile(io_, temporary, path);
  }

  Status WriteTokens(const std::string& temporary) {
    TRAIND_ASSIGN(TokenFileWriter writer, TokenFileWriter::Create(io_, temporary, info_));
    std::vector<Token> tokens;
    for (size_t i = 0; i < sources_.size(); ++i) {
      ChecksumStream checksum;
      if (i > 0) TRAIND_TRY(writer.Append(std::span(&kEndOfText, 1)));
      const auto take = [&](std::string_view text) {
        checksum.Update(text);
        tokens.resize(text.size());
        EncodeBytes(text, tokens);
        TRAIND_TRY(writer.Append(tokens));
        return Report(done_bytes_ + std::ssize(text));
      };
      TRAIND_TRY(ReadText(io_, sources_[i], take));
      if (checksum.Hex() != info_.documents[i].checksum) {
        return Status(ErrorCode::DATA_CHANGED,
                      fmt::format("{}: the file changed while it was tokenised", sources_[i].path));
      }
    }
    return writer.Finish();
  }

  Io& io_;
  const DataSpec& data_;
  const PrepareOptions& options_;
  std::vector<SourceFile> sources_;
  TokenFileInfo info_;
  int64_t done_bytes_ = 0;
  int64_t total_bytes_ = 0;
};

}  // namespace

Result<PreparedData> PrepareData(Io& io, const DataSpec& data, const PrepareOptions& options) {
  return Preparation(io, data, options).Run();
}

}  // namespace traind::data
