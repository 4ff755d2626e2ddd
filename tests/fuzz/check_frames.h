// What must hold for every stream of bytes that is read as frames.
#pragma once

#include <cstdint>
#include <string_view>

namespace traind::fuzzing {

// Reads `bytes` as frames of at most `max_frame_bytes`, whole and cut into pieces whose sizes `seed` draws,
// and aborts, saying why on stderr, unless both ways give the same messages and end alike, and each message
// written again is read back equal.
void CheckFrames(std::string_view bytes, int64_t max_frame_bytes, uint64_t seed);

}  // namespace traind::fuzzing
