// Mutated streams of frames never break the frame reader, however they are cut.
//
// TRAIND_FUZZ_FRAMES says how many (100,000 without it).
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/frame.h"
#include "engine/base/limits.h"
#include "tests/fuzz/check_frames.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/test.h"

namespace traind::fuzzing {
namespace {

constexpr int64_t kSmallLimit = 512;  // so that mutations reach it

std::string Frame(std::string_view json) {
  const auto size = static_cast<uint32_t>(json.size());
  std::string frame;
  for (int i = 0; i < 4; ++i) frame += static_cast<char>(size >> (8 * i) & 0xFF);
  return frame.append(json);
}

std::vector<std::string> Corpus() {
  std::vector<std::string> corpus = ReadFolder("tests/fuzz/corpus/frames");
  std::string together;
  for (
      const char* json :
      {R"({"id":1,"op":"hello","protocol":1,"client":"trainql 0.1.0","directory":"/cwd"})",
       R"({"id":2,"op":"execute","text":"SHOW JOBS","parameters":{"a":1,"b":-2.5e-3,"c":null,"d":true},"token":"é😀"})",
       R"({"id":3,"error":{"code":100,"name":"SYNTAX","class":"SYNTAX","message":"m","line":1,"column":2,"offset":1}})",
       R"({"id":4,"rows":[[1,"a",null],[2,"\u00e9\ud83d\ude00\n",0.1]]})",
       R"({"a":[[[[[[]]]]]],"b":{"c":{"d":{}}}})", R"({})", R"([])", R"("x")", R"({"a":1,"a":2})",
       R"({"a":1e999})", R"({"a":"\ud800"})"}) {
    corpus.push_back(Frame(json));
    together += corpus.back();
  }
  corpus.push_back(together);
  corpus.push_back(Frame(""));
  corpus.push_back(Frame("{\"a\":\"" + std::string(static_cast<size_t>(kSmallLimit) - 8, 'x') + "\"}"));
  corpus.push_back(Frame("{\"a\":\"" + std::string(static_cast<size_t>(kSmallLimit) - 7, 'x') + "\"}"));
  corpus.push_back(Frame("{\"a\":" + std::string(static_cast<size_t>(kMaxJsonDepth), '[') + "}"));
  return corpus;
}

std::vector<std::string> Dictionary() {
  return {"{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "\"",
          "null",
          "true",
          "1",
          "-",
          "1e9",
          "\\u0000",
          "\\ud83d",
          "\\",
          "\n",
          std::string("\0\0\0\0", 4),
          "\xFF\xFF\xFF\xFF",
          std::string("\2\0\0\0", 4),
          "{}",
          "\"a\":",
          "\xC3",
          "é",
          "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["};
}

void MutatedFrames(void**) {
  Mutator mutator(Corpus(), Dictionary(), 20261203);
  for (int64_t left = CasesFromEnvironment("TRAIND_FUZZ_FRAMES", 100000); left > 0; --left) {
    CheckFrames(mutator.Next(), kSmallLimit, static_cast<uint64_t>(left));
  }
}

void EverySplitPoint(void**) {
  for (const std::string& bytes : Corpus()) {
    FrameReader whole(kSmallLimit);
    whole.Feed(bytes);
    const Result<std::optional<Json>> first = whole.Next();
    for (size_t split = 0; split <= bytes.size(); ++split) {
      FrameReader reader(kSmallLimit);
      reader.Feed(std::string_view(bytes).substr(0, split));
      Result<std::optional<Json>> next = reader.Next();
      if (next.ok() && !next->has_value()) {
        reader.Feed(std::string_view(bytes).substr(split));
        next = reader.Next();
      }
      assert_int_equal(next.ok(), first.ok());
      if (next.ok()) assert_true(*next == *first);
    }
  }
}

}  // namespace
}  // namespace traind::fuzzing

int main() {
  using namespace traind::fuzzing;
  const CMUnitTest tests[] = {
      cmocka_unit_test(MutatedFrames),
      cmocka_unit_test(EverySplitPoint),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
