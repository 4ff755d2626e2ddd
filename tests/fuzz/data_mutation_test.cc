// Mutated data never breaks its readers, and what they take is whole.
//
// TRAIND_FUZZ_DATA says how many of each format (30,000 without it).
#include <string>
#include <vector>

#include "tests/fuzz/check_data.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/test.h"

namespace traind::fuzzing {
namespace {

constexpr int64_t kCases = 30000;

std::string Golden(const std::string& name) {
  const std::vector<std::string> files = ReadFolder("tests/data/golden/datasets");
  assert_false(files.empty());
  // The folder's files in the order of their names.
  const std::vector<std::string> names = {"gpt2.bin",           "lines.jsonl",         "llama3.bin",
                                          "megatron_int32.bin", "megatron_int32.idx",  "megatron_int64.bin",
                                          "megatron_int64.idx", "megatron_uint16.bin", "megatron_uint16.idx"};
  assert_int_equal(files.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return files[i];
  }
  fail_msg("%s is missing", name.c_str());
  return {};
}

void MutatedLines(void**) {
  std::vector<std::string> corpus = {Golden("lines.jsonl")};
  for (const char* line :
       {R"({"text":"a"})", R"({"a":[1,-2.5e-3,{"b":null}],"text":"\u00e9\ud83d\ude00\n","c":true})", R"({})",
        R"({"text":1})", R"({"text":"a","text":"b"})", "{\"text\":\"a\"}\r\n\n{\"text\":\"b\"}"}) {
    corpus.emplace_back(line);
  }
  Mutator mutator(corpus,
                  {"{",
                   "}",
                   "[",
                   "]",
                   ",",
                   ":",
                   "\"",
                   "\\",
                   "\\u0000",
                   "\\ud83d",
                   "\\ude00",
                   "null",
                   "true",
                   "1",
                   "-",
                   "0",
                   ".",
                   "e5",
                   "1e999",
                   "\n",
                   "\r\n",
                   "\"text\":",
                   "{\"text\":\"",
                   "\xef\xbb\xbf",
                   "\xff",
                   "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["},
                  20261201);
  for (int64_t left = CasesFromEnvironment("TRAIND_FUZZ_DATA", kCases); left > 0; --left) {
    CheckJsonl(mutator.Next(), 1 + static_cast<size_t>(left % 40));
  }
}

// Numbers at their limits, as they lie in a file.
std::vector<std::string> Numbers() {
  return {std::string(8, '\0'),
          std::string(8, '\xff'),
          std::string("\1\0\0\0\0\0\0\0", 8),
          std::string("\0\0\0\0\0\0\0\x80", 8),
          std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8),
          std::string("\0\0\0\x80", 4),
          std::string("\xff\xff\xff\x7f", 4),
          std::string("\0\0", 2),
          "\x51\xc4"};
}

void MutatedIndexes(void**) {
  const std::string tokens = Golden("megatron_uint16.bin");
  Mutator mutator({Golden("megatron_uint16.idx"), Golden("megatron_int32.idx"), Golden("megatron_int64.idx")},
                  Numbers(), 20261202);
  Mutator tokens_mutator({tokens, tokens + tokens}, Numbers(), 7);
  for (int64_t left = CasesFromEnvironment("TRAIND_FUZZ_DATA", kCases); left > 0; --left) {
    CheckMegatron(mutator.Next(), left % 4 == 0 ? tokens_mutator.Next() : tokens);
  }
}

void MutatedShards(void**) {
  Mutator mutator({Golden("gpt2.bin"), Golden("llama3.bin")}, Numbers(), 20261203);
  for (int64_t left = CasesFromEnvironment("TRAIND_FUZZ_DATA", kCases); left > 0; --left) {
    CheckLlmc(mutator.Next());
  }
}

}  // namespace
}  // namespace traind::fuzzing

int main() {
  using namespace traind::fuzzing;
  const CMUnitTest tests[] = {
      cmocka_unit_test(MutatedLines),
      cmocka_unit_test(MutatedIndexes),
      cmocka_unit_test(MutatedShards),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
