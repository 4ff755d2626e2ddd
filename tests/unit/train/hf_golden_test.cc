// Against transformers: models that it made give the logits that it computed.
// tests/data/golden/make_hf_golden.py made directories and logits.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/unit/train/hf_logits.h"

#include "tests/support/test.h"

namespace traind::train {
namespace {

using namespace testing;

constexpr int64_t kTokens = 24;

std::string Golden(const std::string& name) {
  const char* source = std::getenv("TRAIND_SOURCE");
  return std::string(source == nullptr ? "." : source) + "/tests/data/golden/" + name;
}

void LogitsAreThoseOfTransformers(void**) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < kTokens; ++i) tokens.push_back((37 * i + 11) % 256);
  for (const char* name : {"hf_llama", "hf_llama_sharded_bf16", "hf_gpt2", "hf_qwen2"}) {
    const auto rows = LogitsOf(Golden(name), tokens);
    assert_ok(rows);
    const std::string bytes = ReadFile(Golden(name) + "/logits.bin");
    assert_int_equal(bytes.size(), kTokens * 256 * 4);
    double worst = 0, largest = 0;
    for (size_t row = 0; row < rows->size(); ++row) {
      for (size_t i = 0; i < 256; ++i) {
        float expected = 0;
        std::memcpy(&expected, bytes.data() + (row * 256 + i) * 4, 4);
        worst = std::max(worst, std::fabs(static_cast<double>((*rows)[row][i]) - expected));
        largest = std::max(largest, std::fabs(static_cast<double>(expected)));
      }
    }
    assert_true(largest > 0.1);
    if (worst > 1e-5) print_error("%s: worst %g\n", name, worst);
    assert_true(worst <= 1e-5);
  }
}

}  // namespace
}  // namespace traind::train

int main() {
  using namespace traind::train;
  const CMUnitTest tests[] = {cmocka_unit_test(LogitsAreThoseOfTransformers)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
