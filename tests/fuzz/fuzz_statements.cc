// libFuzzer: statements. Run as: build/fuzz/bin/fuzz_statements tests/fuzz/corpus/statements
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/check_statements.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  traind::fuzzing::CheckStatements({reinterpret_cast<const char*>(data), size});
  return 0;
}
