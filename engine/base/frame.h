// Frames: how messages travel between client and daemon, and between daemon and worker.
//
// A frame is a 4-byte little-endian length and so many bytes of a UTF-8 JSON object. Lengths are checked
// before memory is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {

// Appends the frame of `message` to `out`. The message must be an object.
void AppendFrame(const Json& message, std::string* out);

// Cuts a byte stream into messages. Not thread-safe.
class FrameReader {
 public:
  explicit FrameReader(int64_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  // Takes bytes as they arrive, in pieces of any size.
  void Feed(std::string_view bytes);

  // The next whole message, nullopt if more bytes are needed, FRAME_TOO_LARGE or MALFORMED_FRAME if the
  // stream is broken; after an error the stream cannot be resumed: what is fed is dropped and every call
  // returns that error.
  Result<std::optional<Json>> Next();

 private:
  Status Break(Status status);

  int64_t max_frame_bytes_;
  std::string buffer_;
  size_t begin_ = 0;
  Status broken_;
};

}  // namespace traind
