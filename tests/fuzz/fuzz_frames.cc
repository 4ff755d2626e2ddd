// libFuzzer: frames. Run as: build/fuzz/bin/fuzz_frames tests/fuzz/corpus/frames
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/check_frames.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  traind::fuzzing::CheckFrames({reinterpret_cast<const char*>(data), size}, 4096, size);
  return 0;
}
