// The frame reader's invariants, checked on one stream.
#include "tests/fuzz/check_frames.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "engine/base/frame.h"

namespace traind::fuzzing {
namespace {

struct Outcome {
  std::vector<Json> messages;
  std::string error;  // code and message of the first error, or ""

  bool operator==(const Outcome&) const = default;
};

[[noreturn]] void Fail(std::string_view what, std::string_view bytes) {
  std::fprintf(stderr, "%.*s; %zu bytes:", static_cast<int>(what.size()), what.data(), bytes.size());
  for (const char c : bytes)
    std::fprintf(stderr, " %02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  std::fprintf(stderr, "\n");
  std::abort();
}

// False if the stream is broken.
bool Drain(FrameReader* reader, Outcome* outcome) {
  while (true) {
    Result<std::optional<Json>> next = reader->Next();
    if (!next.ok()) {
      outcome->error = next.status().ToString();
      return false;
    }
    if (!next->has_value()) return true;
    outcome->messages.push_back(**std::move(next));
  }
}

Outcome ReadWhole(std::string_view bytes, int64_t max_frame_bytes) {
  FrameReader reader(max_frame_bytes);
  Outcome outcome;
  reader.Feed(bytes);
  Drain(&reader, &outcome);
  return outcome;
}

Outcome ReadInPieces(std::string_view bytes, int64_t max_frame_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  const size_t largest = 1 + random() % 64;
  FrameReader reader(max_frame_bytes);
  Outcome outcome;
  while (!bytes.empty()) {
    const size_t size = std::min<size_t>(bytes.size(), 1 + random() % largest);
    reader.Feed(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (!Drain(&reader, &outcome)) break;
  }
  return outcome;
}

}  // namespace

void CheckFrames(std::string_view bytes, int64_t max_frame_bytes, uint64_t seed) {
  const Outcome whole = ReadWhole(bytes, max_frame_bytes);
  if (ReadInPieces(bytes, max_frame_bytes, seed) != whole) Fail("pieces give another outcome", bytes);
  for (const Json& message : whole.messages) {
    if (!message.is_object()) Fail("a message that is no object", bytes);
    std::string again;
    AppendFrame(message, &again);
    const Outcome copy = ReadWhole(again, static_cast<int64_t>(again.size()));
    if (copy.messages.size() != 1 || copy.messages[0] != message) Fail("a message is not read back", bytes);
    (void)StatusFromJson(message);
  }
}

}  // namespace traind::fuzzing
