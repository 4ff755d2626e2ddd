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
constexpr int64_t kAlignment = 64;
constexpr int64_t kChecksumBytes = 32;
constexpr int64_t kPieceBytes = 256 * 1024;
constexpr int64_t kMaxTableBytes = 256 << 20;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kTokenFileVersion;
  uint32_t token_width = sizeof(Token);
  uint64_t tokens = 0;
  uint64_t documents = 0;
  uint64_t table_bytes = 0;
  uint64_t tokens_begin = 0;
  uint32_t largest_token = 0;
  uint32_t zero[3] = {};
};
static_assert(sizeof(Header) == 64);

Status Damaged(const std::string& path, int64_t offset, std::string_view what) {
  return Status(ErrorCode::DAMAGED_FILE, fmt::format("{}: at byte {}: {}", path, offset, what));
}

int64_t TokensBegin(int64_t table_bytes) {
  return (static_cast<int64_t>(sizeof(Header)) + table_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string TableToText(const std::vector<Document>& documents) {
  Json table = Json::array();
  for (const Document& document : documents) {
    table.push_back({{"path", document.path},
                     {"bytes", document.bytes},
                     {"modified_ns", document.modified_ns},
                     {"checksum", document.checksum},
                     {"token_begin", document.token_begin}});
  }
  return DumpJson(table);
}

Result<std::vector<Document>> TableFromText(std::string_view text) {
  TRAIND_ASSIGN(const Json table, ParseJson(text));
  std::vector<Document> documents;
  if (!table.is_array()) return Status(ErrorCode::MALFORMED_FRAME, "the document table is no array");
  for (const Json& item : table) {
    Document& document = documents.emplace_back();
    TRAIND_ASSIGN(document.path, GetString(item, "path"));
    TRAIND_ASSIGN(document.bytes, GetInt(item, "bytes"));
    TRAIND_ASSIGN(document.modified_ns, GetInt(item, "modified_ns"));
    TRAIND_ASSIGN(document.checksum, GetString(item, "checksum"));
    TRAIND_ASSIGN(document.token_begin, GetInt(item, "token_begin"));
  }
  return documents;
}

// The header, its sizes adding up to the file's.
Result<Header> ReadHeader(const ReadableFile& file, const std::string& path) {
  Header header;
  if (file.size() < static_cast<int64_t>(sizeof(Header)) + kChecksumBytes) {
    return Damaged(path, file.size(), "shorter than a header");
  }
  TRAIND_TRY(file.ReadAt(0, std::as_writable_bytes(std::span(&header, 1))));
  if (header.magic != kMagic) return Damaged(path, 0, "no token file");
  if (header.version != kTokenFileVersion || header.token_width != sizeof(Token)) {
    return Damaged(path, 8,
                   fmt::format("version {}, token width {}; version {}, width {} is read", header.version,
                               header.token_width, kTokenFileVersion, sizeof(Token)));
  }
  const auto bytes = static_cast<uint64_t>(file.size());
  if (header.table_bytes > static_cast<uint64_t>(kMaxTableBytes) || header.table_bytes > bytes ||
      header.tokens > bytes ||
      header.tokens_begin != static_cast<uint64_t>(TokensBegin(static_cast<int64_t>(header.table_bytes))) ||
      header.tokens_begin + header.tokens * sizeof(Token) + kChecksumBytes != bytes) {
    return Damaged(path, 16,
                   fmt::format("the sizes in the header do not add up to the file's {} bytes", bytes));
  }
  return header;
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

Result<TokenFileInfo> ReadInfo(const ReadableFile& file, const Header& header, const std::string& path) {
  TokenFileInfo info;
  info.tokens = static_cast<int64_t>(header.tokens);
  info.largest_token = static_cast<Token>(header.largest_token);
  std::string table(header.table_bytes, '\0');
  TRAIND_TRY(file.ReadAt(sizeof(Header), std::as_writable_bytes(std::span(table))));
  Result<std::vector<Document>> documents = TableFromText(table);
  if (!documents.ok()) return Damaged(path, sizeof(Header), documents.status().message());
  info.documents = *std::move(documents);
  if (info.documents.size() != header.documents || info.documents.empty()) {
    return Damaged(path, 24, "the number of documents is wrong");
  }
  return info;
}

}  // namespace

Result<TokenFile> TokenFile::Open(Io& io, const std::string& path) {
  TokenFile result;
  TRAIND_ASSIGN(const std::unique_ptr<ReadableFile> file, io.OpenRead(path));
  TRAIND_ASSIGN(const Header header, ReadHeader(*file, path));
  TRAIND_TRY(VerifyChecksum(*file, path));
  TRAIND_ASSIGN(result.info_, ReadInfo(*file, header, path));
  TRAIND_ASSIGN(result.mapping_, io.Map(path));
  const std::span<const std::byte> bytes = result.mapping_->bytes();
  if (std::ssize(bytes) != file->size())
    return Damaged(path, std::ssize(bytes), "changed while it was opened");
  result.tokens_ = {reinterpret_cast<const Token*>(bytes.data() + header.tokens_begin),
                    static_cast<size_t>(header.tokens)};
  return result;
}

int64_t TokenFile::source_bytes() const {
  return std::accumulate(info_.documents.begin(), info_.documents.end(), int64_t{0},
                         [](int64_t sum, const Document& document) { return sum + document.bytes; });
}

const Document& TokenFile::DocumentOf(int64_t index) const {
  const auto after =
      std::upper_bound(info_.documents.begin(), info_.documents.end(), index,
                       [](int64_t i, const Document& document) { return i < document.token_begin; });
  return after == info_.documents.begin() ? *after : *std::prev(after);
}

void TokenFile::ReleasePages() const {
  mapping_->ReleasePages();
}

Result<TokenFileWriter> TokenFileWriter::Create(Io& io, const std::string& path, const TokenFileInfo& info) {
  TRAIND_ASSIGN(std::unique_ptr<WritableFile> file, io.Create(path));
  TokenFileWriter writer(std::move(file), info.tokens);
  std::string table = TableToText(info.documents);
  Header header;
  header.tokens = static_cast<uint64_t>(info.tokens);
  header.documents = info.documents.size();
  header.table_bytes = table.size();
  header.tokens_begin = static_cast<uint64_t>(TokensBegin(std::ssize(table)));
  header.largest_token = info.largest_token;
  table.resize(header.tokens_begin - sizeof(Header));
  TRAIND_TRY(writer.AppendSummed(std::as_bytes(std::span(&header, 1))));
  TRAIND_TRY(writer.AppendSummed(std::as_bytes(std::span(table))));
  return writer;
}

Status TokenFileWriter::AppendSummed(std::span<const std::byte> bytes) {
  checksum_->Update(bytes);
  return file_->Append(bytes);
}

Status TokenFileWriter::Append(std::span<const Token> tokens) {
  missing_tokens_ -= std::ssize(tokens);
  return AppendSummed(std::as_bytes(tokens));
}

Status TokenFileWriter::Finish() {
  if (missing_tokens_ != 0) {
    return Status(ErrorCode::INTERNAL, fmt::format("a token file lacks {} tokens", missing_tokens_));
  }
  const std::string checksum = checksum_->Hex();
  TRAIND_TRY(file_->Append(std::as_bytes(std::span(checksum))));
  TRAIND_TRY(file_->Sync());
  return file_->Close();
}

}  // namespace traind::data
