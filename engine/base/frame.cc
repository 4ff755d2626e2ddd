// Frames: length, then JSON.
#include "engine/base/frame.h"

namespace traind {
namespace {

constexpr size_t kLengthBytes = 4;
// Consumed bytes are moved out of the buffer once they are this many and the larger half of it, so that
// moving costs no more than reading.
constexpr size_t kCompactBytes = 65536;

uint32_t ReadLength(std::string_view bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

void AppendFrame(const Json& message, std::string* out) {
  const std::string text = DumpJson(message);
  const auto length = static_cast<uint32_t>(text.size());
  for (size_t i = 0; i < kLengthBytes; ++i) out->push_back(static_cast<char>((length >> (8 * i)) & 0xff));
  out->append(text);
}

void FrameReader::Feed(std::string_view bytes) {
  if (!broken_.ok()) return;
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  } else if (begin_ >= kCompactBytes && begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<Json>> FrameReader::Next() {
  if (!broken_.ok()) return broken_;
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() < kLengthBytes) return std::optional<Json>();
  const uint32_t length = ReadLength(rest);
  if (length > static_cast<uint64_t>(max_frame_bytes_)) {
    return Break(Status(ErrorCode::FRAME_TOO_LARGE, "a message of " + std::to_string(length) +
                                                        " bytes; the limit is " +
                                                        std::to_string(max_frame_bytes_) + " bytes"));
  }
  if (length == 0) return Break(Status(ErrorCode::MALFORMED_FRAME, "a message of 0 bytes"));
  if (rest.size() < kLengthBytes + length) return std::optional<Json>();
  Result<Json> message = ParseJson(rest.substr(kLengthBytes, length));
  if (!message.ok()) return Break(message.status());
  if (!message->is_object()) {
    return Break(Status(ErrorCode::MALFORMED_FRAME,
                        "a message must be a JSON object, not a JSON " + std::string(message->type_name())));
  }
  begin_ += kLengthBytes + length;
  return std::optional<Json>(*std::move(message));
}

Status FrameReader::Break(Status status) {
  buffer_.clear();
  buffer_.shrink_to_fit();
  begin_ = 0;
  broken_ = std::move(status);
  return broken_;
}

}  // namespace traind
