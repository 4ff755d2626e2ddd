// Reads the index of Megatron's data sets.
#include "engine/data/megatron.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace traind::data {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr uint64_t kVersion = 1;
constexpr int64_t kVersionOffset = 9;
constexpr int64_t kTypeOffset = 17;
constexpr int64_t kSequencesOffset = 18;
constexpr int64_t kDocumentsOffset = 26;
constexpr int64_t kHeaderBytes = 34;

struct Code {
  uint8_t code;
  RawType type;
};
constexpr Code kCodes[] = {{1, RawType::kUint8}, {2, RawType::kInt8},  {3, RawType::kInt16},
                           {4, RawType::kInt32}, {5, RawType::kInt64}, {8, RawType::kUint16}};

// One of the index's arrays, read front to back through a window.
template <typename T>
class ArrayReader {
 public:
  ArrayReader(const ReadableFile& file, int64_t begin, int64_t count)
      : file_(file), begin_(begin), count_(count) {}

  // Where the value lies that Next gave last.
  int64_t offset() const { return begin_ + (next_ - 1) * static_cast<int64_t>(sizeof(T)); }

  Result<int64_t> Next() {
    if (at_ == window_.size()) {
      window_.resize(static_cast<size_t>(std::min(kWindow, count_ - next_)));
      const int64_t offset = begin_ + next_ * static_cast<int64_t>(sizeof(T));
      TRAIND_TRY(file_.ReadAt(offset, std::as_writable_bytes(std::span(window_))));
      at_ = 0;
    }
    ++next_;
    return static_cast<int64_t>(window_[at_++]);
  }

 private:
  static constexpr int64_t kWindow = 32768;

  const ReadableFile& file_;
  int64_t begin_;
  int64_t count_;
  int64_t next_ = 0;
  std::vector<T> window_;
  size_t at_ = 0;
};

constexpr int64_t kWatchEvery = 1 << 20;

class IndexReader {
 public:
  IndexReader(const SourceFile& index, const SourceFile& tokens, const ReadableFile& file,
              const std::function<Status()>& watch)
      : index_(index), tokens_(tokens), file_(file), watch_(watch) {}

  Result<MegatronIndex> Read() {
    TRAIND_TRY(ReadHeader());
    TRAIND_TRY(CheckSizes());
    TRAIND_TRY(CheckSequences());
    TRAIND_TRY(CheckDocuments());
    return MegatronIndex{{type_, 0}, documents_ - 1};
  }

 private:
  Status Damaged(int64_t offset, std::string_view what) const {
    return Status(ErrorCode::DAMAGED_FILE, fmt::format("{}: at byte {}: {}", index_.path, offset, what),
                  "make the data again with Megatron's preprocess_data.py, or restore both files");
  }

  Status ReadHeader() {
    if (index_.info.bytes < kHeaderBytes) {
      return Damaged(index_.info.bytes,
                     fmt::format("the file ends inside its header of {} bytes", kHeaderBytes));
    }
    std::array<char, kHeaderBytes> header{};
    TRAIND_TRY(file_.ReadAt(0, std::as_writable_bytes(std::span(header))));
    if (std::string_view(header.data(), kMagic.size()) != kMagic) {
      return Damaged(0, "no index of Megatron's: it does not begin with MMIDIDX");
    }
    uint64_t version = 0;
    std::memcpy(&version, header.data() + kVersionOffset, sizeof(version));
    if (version != kVersion) {
      return Damaged(kVersionOffset, fmt::format("version {}; {} is read", version, kVersion));
    }
    const auto code = static_cast<uint8_t>(header[kTypeOffset]);
    const auto* found = std::ranges::find(kCodes, code, &Code::code);
    if (found == std::end(kCodes)) {
      return Damaged(kTypeOffset, fmt::format("the type code {} is none of whole numbers", code));
    }
    type_ = found->type;
    uint64_t sequences = 0, documents = 0;
    std::memcpy(&sequences, header.data() + kSequencesOffset, sizeof(sequences));
    std::memcpy(&documents, header.data() + kDocumentsOffset, sizeof(documents));
    // Compared with the size before any arithmetic: neither can be larger than the file.
    const auto most = static_cast<uint64_t>(index_.info.bytes);
    if (sequences > most) {
      return Damaged(kSequencesOffset,
                     fmt::format("{} sequences do not fit a file of {} bytes", sequences, most));
    }
    if (documents > most) {
      return Damaged(kDocumentsOffset,
                     fmt::format("{} documents do not fit a file of {} bytes", documents, most));
    }
    sequences_ = static_cast<int64_t>(sequences);
    documents_ = static_cast<int64_t>(documents);
    return Ok();
  }

  Status CheckSizes() const {
    const int64_t bytes = kHeaderBytes + 12 * sequences_ + 8 * documents_;
    if (sequences_ > 0 && index_.info.bytes == bytes + sequences_) {
      return Damaged(bytes, "the index has modes: multimodal data is not read");
    }
    if (index_.info.bytes != bytes) {
      return Damaged(
          kSequencesOffset,
          fmt::format("{} sequences and {} entries of documents make a file of {} bytes; it has {}",
                      sequences_, documents_, bytes, index_.info.bytes));
    }
    if (documents_ == 0) return Damaged(kDocumentsOffset, "there is no document index");
    return Ok();
  }

  Status CheckSequences() const {
    ArrayReader<int32_t> lengths(file_, kHeaderBytes, sequences_);
    ArrayReader<int64_t> begins(file_, kHeaderBytes + 4 * sequences_, sequences_);
    const int64_t width = BytesOf(type_);
    int64_t bytes = 0;
    for (int64_t i = 0; i < sequences_; ++i) {
      if (i % kWatchEvery == 0) TRAIND_TRY(watch_());
      TRAIND_ASSIGN(const int64_t length, lengths.Next());
      TRAIND_ASSIGN(const int64_t begin, begins.Next());
      if (length < 0) return Damaged(lengths.offset(), fmt::format("sequence {} has {} tokens", i, length));
      if (begin != bytes) {
        return Damaged(begins.offset(),
                       fmt::format("sequence {} is said to begin at byte {} of the .bin; {} is where the one "
                                   "before it ends",
                                   i, begin, bytes));
      }
      bytes += length * width;
      if (bytes > tokens_.info.bytes) {
        return Damaged(lengths.offset(), fmt::format("sequence {} ends at byte {} of {}, which has {}", i,
                                                     bytes, tokens_.path, tokens_.info.bytes));
      }
    }
    if (bytes == tokens_.info.bytes) return Ok();
    return Status(ErrorCode::DAMAGED_FILE,
                  fmt::format("{}: has {} bytes; the {} sequences of {} have {}", tokens_.path,
                              tokens_.info.bytes, sequences_, index_.path, bytes),
                  "the two files do not belong together, or one was cut short");
  }

  Status CheckDocuments() const {
    ArrayReader<int64_t> entries(file_, kHeaderBytes + 12 * sequences_, documents_);
    int64_t before = 0;
    for (int64_t i = 0; i < documents_; ++i) {
      if (i % kWatchEvery == 0) TRAIND_TRY(watch_());
      TRAIND_ASSIGN(const int64_t entry, entries.Next());
      const bool fits = i == 0 ? entry == 0 : entry >= before && entry <= sequences_;
      if (!fits) {
        return Damaged(entries.offset(),
                       fmt::format("entry {} of the document index is {}, after {}; there are {} sequences",
                                   i, entry, before, sequences_));
      }
      before = entry;
    }
    if (before == sequences_) return Ok();
    return Damaged(entries.offset(),
                   fmt::format("the document index ends at {}; there are {} sequences", before, sequences_));
  }

  const SourceFile& index_;
  const SourceFile& tokens_;
  const ReadableFile& file_;
  const std::function<Status()>& watch_;
  RawType type_ = RawType::kUint16;
  int64_t sequences_ = 0;
  int64_t documents_ = 0;  // entries of the index, one more than documents
};

}  // namespace

Result<MegatronIndex> OpenMegatron(Io& io, const SourceFile& index, const SourceFile& tokens,
                                   const std::function<Status()>& watch) {
  TRAIND_ASSIGN(const std::unique_ptr<ReadableFile> file, io.OpenRead(index.path));
  if (file->size() != index.info.bytes) return FileChanged(index);
  TRAIND_ASSIGN(const MegatronIndex result, IndexReader(index, tokens, *file, watch).Read());
  TRAIND_TRY(CheckUnchanged(io, index));
  return result;
}

}  // namespace traind::data
