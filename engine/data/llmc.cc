// Reads the header of llm.c's shards.
#include "engine/data/llmc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace traind::data {
namespace {

constexpr int64_t kHeaderBytes = 256 * sizeof(int32_t);

struct Kind {
  int32_t magic;
  int32_t version;
  RawType type;
};
constexpr Kind kKinds[] = {{20240520, 1, RawType::kUint16}, {20240801, 7, RawType::kUint32}};

Status Damaged(const SourceFile& source, int64_t offset, std::string_view what) {
  return Status(ErrorCode::DAMAGED_FILE, fmt::format("{}: at byte {}: {}", source.path, offset, what),
                "FORMAT llmc reads llm.c's shards; a Megatron .bin is named by its .idx, text takes CREATE "
                "DATASET … FORMAT text");
}

}  // namespace

Result<RawTokens> OpenLlmc(Io& io, const SourceFile& source) {
  if (source.info.bytes < kHeaderBytes) {
    return Damaged(source, source.info.bytes,
                   fmt::format("the file ends inside its header of {} bytes", kHeaderBytes));
  }
  TRAIND_ASSIGN(const std::unique_ptr<ReadableFile> file, io.OpenRead(source.path));
  std::array<int32_t, 3> header{};
  const Status read = file->ReadAt(0, std::as_writable_bytes(std::span(header)));
  if (read.code() == ErrorCode::DAMAGED_FILE) return FileChanged(source);
  TRAIND_TRY(read);
  const auto [magic, version, count] = header;
  const auto* kind = std::ranges::find(kKinds, magic, &Kind::magic);
  if (kind == std::end(kKinds)) {
    return Damaged(source, 0,
                   fmt::format("the magic number is {}; {} (GPT-2) or {} (Llama 3) is expected", magic,
                               kKinds[0].magic, kKinds[1].magic));
  }
  if (version != kind->version) {
    return Damaged(source, 4, fmt::format("version {}; {} is read", version, kind->version));
  }
  if (count == 0) {
    return Status(ErrorCode::EMPTY_FILE, fmt::format("{}: holds no tokens", source.path),
                  "leave it out of the data");
  }
  const int64_t bytes = kHeaderBytes + int64_t{count} * BytesOf(kind->type);
  if (count < 0 || bytes != source.info.bytes) {
    return Damaged(source, 8,
                   fmt::format("{} tokens of {} make a file of {} bytes; it has {}", count,
                               NameOf(kind->type), bytes, source.info.bytes));
  }
  return RawTokens{kind->type, kHeaderBytes};
}

}  // namespace traind::data
