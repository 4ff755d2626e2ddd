// Reads ids of any width.
#include "engine/data/raw_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace traind::data {
namespace {

struct RawTypeInfo {
  RawType type;
  int64_t bytes;
  std::string_view name;
};

constexpr RawTypeInfo kRawTypes[] = {
    {RawType::kUint8, 1, "uint8"}, {RawType::kInt8, 1, "int8"},   {RawType::kUint16, 2, "uint16"},
    {RawType::kInt16, 2, "int16"}, {RawType::kInt32, 4, "int32"}, {RawType::kUint32, 4, "uint32"},
    {RawType::kInt64, 8, "int64"},
};

const RawTypeInfo& InfoOf(RawType type) {
  return *std::ranges::find(kRawTypes, type, &RawTypeInfo::type);
}

// Widens all of `piece`; returns the index of the first id that is not in [0, vocab_size), or its end.
template <typename T>
size_t Widen(std::string_view piece, int64_t vocab_size, std::vector<TokenId>* ids, int64_t* bad) {
  const size_t count = piece.size() / sizeof(T);
  ids->resize(count);
  for (size_t i = 0; i < count; ++i) {
    T raw;
    std::memcpy(&raw, piece.data() + i * sizeof(T), sizeof(T));
    const auto id = static_cast<int64_t>(raw);
    if (id < 0 || id >= vocab_size) {
      *bad = id;
      return i;
    }
    (*ids)[i] = static_cast<TokenId>(id);
  }
  return count;
}

size_t Widen(RawType type, std::string_view piece, int64_t vocab_size, std::vector<TokenId>* ids,
             int64_t* bad) {
  switch (type) {
    case RawType::kUint8:
      return Widen<uint8_t>(piece, vocab_size, ids, bad);
    case RawType::kInt8:
      return Widen<int8_t>(piece, vocab_size, ids, bad);
    case RawType::kUint16:
      return Widen<uint16_t>(piece, vocab_size, ids, bad);
    case RawType::kInt16:
      return Widen<int16_t>(piece, vocab_size, ids, bad);
    case RawType::kInt32:
      return Widen<int32_t>(piece, vocab_size, ids, bad);
    case RawType::kUint32:
      return Widen<uint32_t>(piece, vocab_size, ids, bad);
    case RawType::kInt64:
      break;
  }
  return Widen<int64_t>(piece, vocab_size, ids, bad);
}

}  // namespace

int64_t BytesOf(RawType type) {
  return InfoOf(type).bytes;
}

std::string_view NameOf(RawType type) {
  return InfoOf(type).name;
}

Status ReadRawTokens(Io& io, const SourceFile& source, const RawTokens& tokens, int64_t vocab_size,
                     const TakePiece& watch, const std::function<Status(std::span<const TokenId>)>& take) {
  std::vector<TokenId> ids;
  int64_t offset = 0;
  return ReadPieces(io, source, [&](std::string_view piece) -> Status {
    TRAIND_TRY(watch(piece));
    const int64_t skipped = std::clamp<int64_t>(tokens.begin - offset, 0, std::ssize(piece));
    piece.remove_prefix(static_cast<size_t>(skipped));
    offset += skipped;
    int64_t bad = 0;
    const size_t good = Widen(tokens.type, piece, vocab_size, &ids, &bad);
    if (good < ids.size()) {
      return Status(ErrorCode::TOKEN_OUT_OF_RANGE,
                    fmt::format("{}: token {} at byte {} is not in the model's vocabulary of {}", source.path,
                                bad, offset + static_cast<int64_t>(good) * BytesOf(tokens.type), vocab_size),
                    "these tokens need a model with the vocab_size of the tokenizer that made them");
    }
    offset += std::ssize(piece);
    return take(ids);
  });
}

}  // namespace traind::data
