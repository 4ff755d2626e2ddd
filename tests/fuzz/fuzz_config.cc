// libFuzzer: config.json of a model directory.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/check_model_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  traind::fuzzing::CheckConfig({reinterpret_cast<const char*>(data), size});
  return 0;
}
