// Reads, verifies and writes token files.
#include "engine/data/token_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "engine/base/json.h"

namespace traind::data {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are mapped as they lie");

constexpr std::array<char, 8> kMagic = {'T', 'R', 'A', 'I', 'N', 'D', 'T', 'K'};
constexpr int64_t kChecksumBytes = 32;
constexpr int64_t kPieceBytes = 256 * 1024;
constexpr int64_t kMaxTableBytes = 256 << 20;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kTokenFileVersion;
  uint32_t token_width = 0;
  uint64_t zero[6] = {};
};
static_assert(sizeof(Header) == 64);

struct Trailer {
  uint64_t tokens = 0;
  uint64_t documents = 0;
  uint64_t text_bytes = 0;
  uint64_t table_bytes = 0;
  uint32_t largest_token = 0;
  uint32_t zero[7] = {};
};
static_assert(sizeof(Trailer) == 64);

constexpr int64_t kFrameBytes = sizeof(Header) + sizeof(Trailer) + kChecksumBytes;

Status Damaged(const std::string& path, int64_t offset, std::string_view what) {
  return Status(ErrorCode::DAMAGED_FILE, fmt::format("{}: at byte {}: {}", path, offset, what));
}

std::string TableToText(const std::vector<TokenizedFile>& files) {
  Json table = Json::array();
  for (const TokenizedFile& file : files) {
    table.push_back({{"path", file.path},
                     {"bytes", file.bytes},
                     {"modified_ns", file.modified_ns},
                     {"checksum", file.checksum},
                     {"documents", file.documents},
                     {"token_begin", file.token_begin}});
  }
  return DumpJson(table);
}

Result<std::vector<TokenizedFile>> TableFromText(std::string_view text) {
  TRAIND_ASSIGN(const Json table, ParseJson(text));
  std::vector<TokenizedFile> files;
  if (!table.is_array()) return Status(ErrorCode::MALFORMED_FRAME, "the table of files is no array");
  for (const Json& item : table) {
    TokenizedFile& file = files.emplace_back();
    TRAIND_ASSIGN(file.path, GetString(item, "path"));
    TRAIND_ASSIGN(file.bytes, GetInt(item, "bytes"));
    TRAIND_ASSIGN(file.modified_ns, GetInt(item, "modified_ns"));
    TRAIND_ASSIGN(file.checksum, GetString(item, "checksum"));
    TRAIND_ASSIGN(file.documents, GetInt(item, "documents"));
    TRAIND_ASSIGN(file.token_begin, GetInt(item, "token_begin"));
  }
  return files;
}

Result<Header> ReadHeader(const ReadableFile& file, const std::string& path) {
  Header header;
  if (file.size() < kFrameBytes) return Damaged(path, file.size(), "shorter than an empty token file");
  TRAIND_TRY(file.ReadAt(0, std::as_writable_bytes(std::span(&header, 1))));
  if (header.magic != kMagic) return Damaged(path, 0, "no token file");
  const uint32_t width = header.token_width;
  if (header.version != kTokenFileVersion || (width != 1 && width != 2 && width != 4)) {
    return Damaged(path, 8,
                   fmt::format("version {}, token width {}; version {}, width 1, 2 or 4 is read",
                               header.version, width, kTokenFileVersion));
  }
  return header;
}

// The sizes, adding up to the file's.
Result<Trailer> ReadTrailer(const ReadableFile& file, const std::string& path, uint64_t width) {
  Trailer trailer;
  const int64_t offset = file.size() - kChecksumBytes - static_cast<int64_t>(sizeof(Trailer));
  TRAIND_TRY(file.ReadAt(offset, std::as_writable_bytes(std::span(&trailer, 1))));
  const auto bytes = static_cast<uint64_t>(file.size() - kFrameBytes);
  if (trailer.table_bytes > static_cast<uint64_t>(kMaxTableBytes) || trailer.table_bytes > bytes ||
      trailer.tokens > bytes || trailer.tokens * width + trailer.table_bytes != bytes) {
    return Damaged(path, offset,
                   fmt::format("the sizes written do not add up to the file's {} bytes", file.size()));
  }
  return trailer;
}

// Reads the file once, in pieces rather than through the mapping, so that its pages do not become the
// process's.
Status VerifyChecksum(const ReadableFile& file, const std::string& path) {
  ChecksumStream checksum;
  std::vector<std::byte> piece(static_cast<size_t>(kPieceBytes));
  const int64_t end = file.size() - kChecksumBytes;
  for (int64_t offset = 0; offset < end; offset += kPieceBytes) {
    const auto part = std::span(piece).first(static_cast<size_t>(std::min(kPieceBytes, end - offset)));
    TRAIND_TRY(file.ReadAt(offset, part));
    checksum.Update(part);
  }
  std::string stored(static_cast<size_t>(kChecksumBytes), '\0');
  TRAIND_TRY(file.ReadAt(end, std::as_writable_bytes(std::span(stored))));
  return checksum.Hex() == stored ? Ok() : Damaged(path, end, "the content does not match its checksum");
}

Result<TokenFileInfo> ReadInfo(const ReadableFile& file, const Trailer& trailer, uint64_t width,
                               const std::string& path) {
  TokenFileInfo info;
  info.tokens = static_cast<int64_t>(trailer.tokens);
  info.documents = static_cast<int64_t>(trailer.documents);
  info.text_bytes = static_cast<int64_t>(trailer.text_bytes);
  info.largest_token = static_cast<TokenId>(trailer.largest_token);
  const auto offset = static_cast<int64_t>(sizeof(Header) + trailer.tokens * width);
  std::string table(trailer.table_bytes, '\0');
  TRAIND_TRY(file.ReadAt(offset, std::as_writable_bytes(std::span(table))));
  Result<std::vector<TokenizedFile>> files = TableFromText(table);
  if (!files.ok()) return Damaged(path, offset, files.status().message());
  if (files->empty()) return Damaged(path, offset, "the table names no file");
  info.files = *std::move(files);
  return info;
}

template <typename T>
void Widen(const std::byte* from, std::span<TokenId> out) {
  for (TokenId& id : out) {
    T token;
    std::memcpy(&token, from, sizeof(T));
    id = static_cast<TokenId>(token);
    from += sizeof(T);
  }
}

template <typename T>
void Narrow(std::span<const TokenId> tokens, std::byte* to) {
  for (const TokenId id : tokens) {
    const auto token = static_cast<T>(id);
    std::memcpy(to, &token, sizeof(T));
    to += sizeof(T);
  }
}

}  // namespace

int WidthFor(int64_t vocab_size) {
  if (vocab_size <= 1 << 8) return 1;
  return vocab_size <= 1 << 16 ? 2 : 4;
}

Result<TokenFile> TokenFile::Open(Io& io, const std::string& path) {
  TokenFile result;
  TRAIND_ASSIGN(const std::unique_ptr<ReadableFile> file, io.OpenRead(path));
  TRAIND_ASSIGN(const Header header, ReadHeader(*file, path));
  TRAIND_ASSIGN(const Trailer trailer, ReadTrailer(*file, path, header.token_width));
  TRAIND_TRY(VerifyChecksum(*file, path));
  TRAIND_ASSIGN(result.info_, ReadInfo(*file, trailer, header.token_width, path));
  TRAIND_ASSIGN(result.mapping_, io.Map(path));
  const std::span<const std::byte> bytes = result.mapping_->bytes();
  if (std::ssize(bytes) != file->size())
    return Damaged(path, std::ssize(bytes), "changed while it was opened");
  result.tokens_ = bytes.data() + sizeof(Header);
  result.width_ = static_cast<int>(header.token_width);
  return result;
}

void TokenFile::Read(int64_t begin, std::span<TokenId> out) const {
  const std::byte* from = tokens_ + begin * width_;
  if (width_ == 1) return Widen<uint8_t>(from, out);
  if (width_ == 2) return Widen<uint16_t>(from, out);
  Widen<uint32_t>(from, out);
}

int64_t TokenFile::source_bytes() const {
  return std::accumulate(info_.files.begin(), info_.files.end(), int64_t{0},
                         [](int64_t sum, const TokenizedFile& file) { return sum + file.bytes; });
}

const TokenizedFile& TokenFile::FileOf(int64_t index) const {
  const auto after =
      std::upper_bound(info_.files.begin(), info_.files.end(), index,
                       [](int64_t i, const TokenizedFile& file) { return i < file.token_begin; });
  return after == info_.files.begin() ? *after : *std::prev(after);
}

void TokenFile::ReleasePages() const {
  mapping_->ReleasePages();
}

Result<TokenFileWriter> TokenFileWriter::Create(Io& io, const std::string& path, int width) {
  TRAIND_ASSIGN(std::unique_ptr<WritableFile> file, io.Create(path));
  TokenFileWriter writer(std::move(file), width);
  Header header;
  header.token_width = static_cast<uint32_t>(width);
  TRAIND_TRY(writer.AppendSummed(std::as_bytes(std::span(&header, 1))));
  return writer;
}

Status TokenFileWriter::AppendSummed(std::span<const std::byte> bytes) {
  checksum_->Update(bytes);
  return file_->Append(bytes);
}

Status TokenFileWriter::Append(std::span<const TokenId> tokens) {
  if (tokens.empty()) return Ok();
  tokens_ += std::ssize(tokens);
  largest_token_ = std::max(largest_token_, *std::max_element(tokens.begin(), tokens.end()));
  narrowed_.resize(tokens.size() * static_cast<size_t>(width_));
  if (width_ == 1) Narrow<uint8_t>(tokens, narrowed_.data());
  if (width_ == 2) Narrow<uint16_t>(tokens, narrowed_.data());
  if (width_ == 4) Narrow<uint32_t>(tokens, narrowed_.data());
  return AppendSummed(narrowed_);
}

Status TokenFileWriter::Finish(const TokenFileInfo& info) {
  if (largest_token_ < 0 || WidthFor(int64_t{largest_token_} + 1) > width_) {
    return Status(ErrorCode::INTERNAL,
                  fmt::format("token {} does not fit a token file of width {}", largest_token_, width_));
  }
  const std::string table = TableToText(info.files);
  Trailer trailer;
  trailer.tokens = static_cast<uint64_t>(tokens_);
  trailer.documents = static_cast<uint64_t>(info.documents);
  trailer.text_bytes = static_cast<uint64_t>(info.text_bytes);
  trailer.table_bytes = table.size();
  trailer.largest_token = static_cast<uint32_t>(largest_token_);
  TRAIND_TRY(AppendSummed(std::as_bytes(std::span(table))));
  TRAIND_TRY(AppendSummed(std::as_bytes(std::span(&trailer, 1))));
  const std::string checksum = checksum_->Hex();
  TRAIND_TRY(file_->Append(std::as_bytes(std::span(checksum))));
  TRAIND_TRY(file_->Sync());
  return file_->Close();
}

}  // namespace traind::data
