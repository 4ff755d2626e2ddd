// Reads a safetensors header piece by piece through a SAX handler; writes one.
#include "engine/format/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/base/json.h"
#include "engine/base/limits.h"

namespace traind::format {
namespace {

constexpr int64_t kPieceBytes = 65536;
constexpr int64_t kMaxStringBytes = 1 << 20;  // metadata values are the longest strings in practice
constexpr size_t kMaxTensorNameBytes = 512;
constexpr size_t kMaxTensors = 16384;
constexpr size_t kMaxDimensions = 8;

Status Damaged(const std::string& path, int64_t offset, std::string_view what) {
  return Status(ErrorCode::DAMAGED_FILE, fmt::format("{}: at byte {}: {}", path, offset, what),
                "the file is incomplete or was made by something else; write or copy it again");
}

// The header's bytes, read in pieces. Stops at what no JSON text holds, before the parser buffers it.
class HeaderFeed {
 public:
  HeaderFeed(const ReadableFile& file, int64_t header_bytes)
      : file_(file), end_(kSafetensorsPrefixBytes + header_bytes) {
    Load();
  }

  bool at_end() const { return position_ >= end_; }
  char current() const { return piece_[static_cast<size_t>(position_ - piece_begin_)]; }
  int64_t position() const { return position_; }
  const Status& status() const { return status_; }
  std::string_view complaint() const { return complaint_; }

  // To the next byte; of white space between tokens, which the parser would keep, to the next other one.
  void Advance() {
    const bool was_space = !in_string_ && IsSpace(current());
    do {
      ++position_;
      if (!at_end() && position_ == piece_begin_ + static_cast<int64_t>(piece_.size())) Load();
    } while (!at_end() && was_space && IsSpace(current()));
    if (!at_end()) Watch(current());
  }

 private:
  static bool IsSpace(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

  void Load() {
    piece_begin_ = position_;
    piece_.resize(static_cast<size_t>(std::min(kPieceBytes, end_ - position_)));
    status_ = file_.ReadAt(piece_begin_, std::as_writable_bytes(std::span(piece_)));
    if (!status_.ok()) end_ = position_;
  }

  // Follows quotes and escapes to bound the length of one string.
  void Watch(char byte) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x20 && !IsSpace(byte)) return Stop("a control character");
    if (!in_string_) {
      in_string_ = byte == '"';
      string_bytes_ = 0;
      return;
    }
    if (++string_bytes_ > kMaxStringBytes) return Stop("a string longer than 1 MiB");
    if (escaped_) {
      escaped_ = false;
    } else if (byte == '\\') {
      escaped_ = true;
    } else if (byte == '"') {
      in_string_ = false;
    }
  }

  void Stop(std::string_view complaint) {
    complaint_ = complaint;
    end_ = position_;
  }

  const ReadableFile& file_;
  int64_t end_;
  int64_t position_ = kSafetensorsPrefixBytes;
  int64_t piece_begin_ = 0;
  std::string piece_;
  bool in_string_ = false;
  bool escaped_ = false;
  int64_t string_bytes_ = 0;
  std::string_view complaint_;
  Status status_;
};

// The feed as the input iterator that the JSON parser wants; a default one is the end.
class FeedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  FeedIterator() = default;
  explicit FeedIterator(HeaderFeed* feed) : feed_(feed) {}

  char operator*() const { return feed_->current(); }
  FeedIterator& operator++() {
    feed_->Advance();
    return *this;
  }
  FeedIterator operator++(int) {
    FeedIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const FeedIterator& other) const { return ended() == other.ended(); }
  bool operator!=(const FeedIterator& other) const { return !(*this == other); }

 private:
  bool ended() const { return feed_ == nullptr || feed_->at_end(); }
  HeaderFeed* feed_ = nullptr;
};

// One tensor's fields as they come, offsets still relative to the data's begin.
struct RawTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::array<int64_t, 2> offsets = {};
  StoredType type = StoredType::kF32;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

// Accepts exactly {"name": {"dtype": "BF16", "shape": […], "data_offsets": [b, e]}, "__metadata__": {…}}.
// Every handler returns false to stop; complaint() then says why.
class HeaderHandler : public nlohmann::json_sax<Json> {
 public:
  const std::string& complaint() const { return complaint_; }
  std::vector<RawTensor>& tensors() { return tensors_; }

  bool start_object(size_t) override {
    switch (place_) {
      case Place::kBegin:
        return Go(Place::kHeader);
      case Place::kMetadataValue:
        return Go(Place::kMetadata);
      case Place::kTensorValue:
        return Go(Place::kTensor);
      default:
        return Stop("an object where none belongs");
    }
  }

  bool end_object() override {
    switch (place_) {
      case Place::kTensor:
        return EndTensor();
      case Place::kMetadata:
        return Go(Place::kHeader);
      default:
        return Go(Place::kEnd);
    }
  }

  bool key(string_t& text) override {
    switch (place_) {
      case Place::kHeader:
        return text == "__metadata__" ? BeginMetadata() : BeginTensor(text);
      case Place::kMetadata:
        return true;
      default:
        return BeginField(text);
    }
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kDtype) return Stop("a string where none belongs");
    const std::optional<StoredType> type = ParseStoredType(text);
    if (!type) return Stop(fmt::format("tensor '{}' has the unknown dtype '{}'", name(), Short(text)));
    tensors_.back().type = *type;
    return Go(Place::kTensor);
  }

  bool start_array(size_t) override {
    if (place_ == Place::kShape) return Go(Place::kInShape);
    if (place_ == Place::kOffsets) return Go(Place::kInOffsets);
    return Stop("an array where none belongs");
  }

  bool end_array() override {
    if (place_ == Place::kInOffsets && offset_count_ != 2) {
      return Stop(fmt::format("tensor '{}' has {} data_offsets; 2 belong there", name(), offset_count_));
    }
    return Go(Place::kTensor);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) return Stop("a number that is too large");
    const auto number = static_cast<int64_t>(value);
    if (place_ == Place::kInShape) {
      if (tensors_.back().shape.size() == kMaxDimensions) return Stop("a shape of more than 8 dimensions");
      tensors_.back().shape.push_back(number);
      return true;
    }
    if (place_ != Place::kInOffsets) return Stop("a number where none belongs");
    if (offset_count_ == 2) return Stop(fmt::format("tensor '{}' has more than 2 data_offsets", name()));
    tensors_.back().offsets[offset_count_++] = number;
    return true;
  }

  bool null() override { return Stop("null where no null belongs"); }
  bool boolean(bool) override { return Stop("true or false where none belongs"); }
  bool number_integer(number_integer_t) override { return Stop("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return Stop("a number that is no integer"); }
  bool binary(binary_t&) override { return Stop("binary data"); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return complaint_.empty() ? Stop("the header is not valid JSON") : false;
  }

 private:
  enum class Place {
    kBegin,
    kHeader,
    kMetadataValue,
    kMetadata,
    kTensorValue,
    kTensor,
    kDtype,
    kShape,
    kInShape,
    kOffsets,
    kInOffsets,
    kEnd
  };

  bool Go(Place place) {
    place_ = place;
    return true;
  }
  bool Stop(std::string complaint) {
    complaint_ = std::move(complaint);
    return false;
  }
  static std::string Short(const std::string& text) { return text.substr(0, 80); }
  const std::string& name() const { return tensors_.back().name; }

  bool BeginMetadata() {
    if (std::exchange(has_metadata_, true)) return Stop("__metadata__ is given twice");
    return Go(Place::kMetadataValue);
  }

  bool BeginTensor(const std::string& text) {
    if (text.empty() || text.size() > kMaxTensorNameBytes) {
      return Stop("a tensor's name is empty or longer than 512 bytes");
    }
    if (tensors_.size() == kMaxTensors) return Stop("more than 16384 tensors");
    tensors_.push_back({});
    tensors_.back().name = text;
    offset_count_ = 0;
    return Go(Place::kTensorValue);
  }

  bool BeginField(const std::string& field) {
    RawTensor& tensor = tensors_.back();
    const auto once = [&](bool* seen, Place place) {
      if (std::exchange(*seen, true)) return Stop(fmt::format("tensor '{}' has {} twice", name(), field));
      return Go(place);
    };
    if (field == "dtype") return once(&tensor.has_dtype, Place::kDtype);
    if (field == "shape") return once(&tensor.has_shape, Place::kShape);
    if (field == "data_offsets") return once(&tensor.has_offsets, Place::kOffsets);
    return Stop(fmt::format("tensor '{}' has the unknown field '{}'", name(), Short(field)));
  }

  bool EndTensor() {
    const RawTensor& tensor = tensors_.back();
    if (!tensor.has_dtype || !tensor.has_shape || !tensor.has_offsets) {
      return Stop(fmt::format("tensor '{}' lacks dtype, shape or data_offsets", name()));
    }
    return Go(Place::kHeader);
  }

  Place place_ = Place::kBegin;
  bool has_metadata_ = false;
  size_t offset_count_ = 0;
  std::vector<RawTensor> tensors_;
  std::string complaint_;
};

// The header's length, within the limit and the file.
Result<int64_t> ReadHeaderLength(const ReadableFile& file, const std::string& path) {
  if (file.size() < kSafetensorsPrefixBytes) return Damaged(path, 0, "shorter than a header's length field");
  std::array<unsigned char, kSafetensorsPrefixBytes> prefix;
  TRAIND_TRY(file.ReadAt(0, std::as_writable_bytes(std::span(prefix))));
  uint64_t length = 0;
  for (size_t i = prefix.size(); i-- > 0;) length = length << 8 | prefix[i];
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeaderBytes)) {
    return Damaged(
        path, 0,
        fmt::format("the header's length is {}; the limit is {}", length, kMaxSafetensorsHeaderBytes));
  }
  const auto header_bytes = static_cast<int64_t>(length);
  if (header_bytes > file.size() - kSafetensorsPrefixBytes) {
    return Damaged(
        path, 0, fmt::format("the header's length is {}, the file has {} bytes", header_bytes, file.size()));
  }
  if (header_bytes < 2) return Damaged(path, 0, "the header is empty");
  return header_bytes;
}

// Bytes of a tensor, or -1 if they do not fit 63 bits.
int64_t BytesOf(StoredType type, const std::vector<int64_t>& shape) {
  int64_t bytes = StoredBytes(type);
  bool overflow = false;
  for (const int64_t extent : shape) overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  // A zero later in the shape must not hide an overflow before it.
  return overflow ? -1 : bytes;
}

Result<std::vector<TensorInfo>> Place(std::vector<RawTensor> raw, int64_t data_begin, int64_t file_bytes,
                                      const std::string& path) {
  std::stable_sort(raw.begin(), raw.end(),
                   [](const RawTensor& a, const RawTensor& b) { return a.offsets < b.offsets; });
  std::vector<TensorInfo> tensors;
  tensors.reserve(raw.size());
  int64_t end = 0;
  for (RawTensor& tensor : raw) {
    const int64_t bytes = BytesOf(tensor.type, tensor.shape);
    if (tensor.offsets[0] != end) {
      return Damaged(
          path, data_begin + end,
          fmt::format("tensor '{}' begins at data offset {}, not where the one before it ends ({})",
                      tensor.name, tensor.offsets[0], end));
    }
    if (bytes < 0 || tensor.offsets[1] - tensor.offsets[0] != bytes) {
      return Damaged(path, data_begin + end,
                     fmt::format("tensor '{}' has data offsets {} to {}, which do not fit its shape",
                                 tensor.name, tensor.offsets[0], tensor.offsets[1]));
    }
    end = tensor.offsets[1];
    if (end > file_bytes - data_begin) {
      return Damaged(path, file_bytes, fmt::format("the file ends inside tensor '{}'", tensor.name));
    }
    tensors.push_back(
        {std::move(tensor.name), std::move(tensor.shape), data_begin + end - bytes, bytes, tensor.type});
  }
  if (data_begin + end != file_bytes) {
    return Damaged(path, data_begin + end,
                   fmt::format("{} bytes that belong to no tensor", file_bytes - data_begin - end));
  }
  return tensors;
}

Status CheckUnique(const std::vector<RawTensor>& tensors, const std::string& path) {
  std::vector<const std::string*> names;
  names.reserve(tensors.size());
  for (const RawTensor& tensor : tensors) names.push_back(&tensor.name);
  std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a < *b; });
  const auto twice =
      std::adjacent_find(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a == *b; });
  if (twice == names.end()) return Ok();
  return Damaged(path, kSafetensorsPrefixBytes, fmt::format("tensor '{}' is given twice", **twice));
}

}  // namespace

Result<std::vector<TensorInfo>> ReadSafetensorsHeader(const ReadableFile& file, const std::string& path) {
  TRAIND_ASSIGN(const int64_t header_bytes, ReadHeaderLength(file, path));
  HeaderFeed feed(file, header_bytes);
  TRAIND_TRY(feed.status());
  if (feed.current() != '{')
    return Damaged(path, kSafetensorsPrefixBytes, "the header does not begin with {");
  HeaderHandler handler;
  const bool parsed = Json::sax_parse(FeedIterator(&feed), FeedIterator(), &handler);
  TRAIND_TRY(feed.status());
  if (!feed.complaint().empty()) return Damaged(path, feed.position(), feed.complaint());
  if (!parsed) return Damaged(path, feed.position(), handler.complaint());
  TRAIND_TRY(CheckUnique(handler.tensors(), path));
  return Place(std::move(handler.tensors()), kSafetensorsPrefixBytes + header_bytes, file.size(), path);
}

std::string MakeSafetensorsHeader(std::span<const NamedShape> tensors) {
  OrderedJson header = OrderedJson::object();
  header["__metadata__"] = {{"format", "pt"}};
  int64_t end = 0;
  for (const NamedShape& tensor : tensors) {
    const int64_t begin = end;
    end += BytesOf(StoredType::kF32, tensor.shape);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string result;
  for (int shift = 0; shift < 64; shift += 8) {
    result.push_back(static_cast<char>(static_cast<uint64_t>(text.size()) >> shift & 0xff));
  }
  return result + text;
}

}  // namespace traind::format
