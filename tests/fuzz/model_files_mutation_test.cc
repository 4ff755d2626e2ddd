// Mutated files of model directories are refused with their place, or are what they say.
//
// TRAIND_FUZZ_MODEL_FILES says how many of each kind (50,000 without it).
#include <cstdint>
#include <string>
#include <vector>

#include "engine/format/safetensors_header.h"
#include "engine/train/hf_config.h"
#include "tests/fuzz/check_model_files.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/train/hf_directory.h"

#include "tests/support/test.h"

namespace traind::fuzzing {
namespace {

std::vector<std::string> Safetensors() {
  std::vector<std::string> corpus;
  for (const char* dtype : {"F32", "BF16", "I64"}) {
    const int64_t bytes = std::string(dtype) == "F32" ? 4 : std::string(dtype) == "BF16" ? 2 : 8;
    const auto data = [&](int64_t elements) {
      return std::string(static_cast<size_t>(elements * bytes), 'd');
    };
    corpus.push_back(testing::SafetensorsText(
        {{"a", dtype, {2, 3}, data(6)}, {"b.weight", dtype, {}, data(1)}, {"empty", dtype, {0, 4}, ""}}));
  }
  corpus.push_back(format::MakeSafetensorsHeader({}));
  return corpus;
}

std::vector<std::string> Configs() {
  ModelSpec tied = testing::TinyLlama();
  tied.tie_word_embeddings = true;
  return {train::HuggingFaceConfig(testing::TinyLlama()), train::HuggingFaceConfig(tied),
          R"({"model_type":"llama","vocab_size":256,"hidden_size":16,"intermediate_size":24,
              "num_hidden_layers":2,"num_attention_heads":4,"head_dim":4,
              "rope_parameters":{"rope_theta":1e6,"rope_type":"default"}})",
          R"({"model_type":"gpt2","vocab_size":256,"n_embd":16,"n_layer":2,"n_head":4,"n_positions":64})"};
}

void MutatedSafetensors(void**) {
  Mutator mutator(Safetensors(),
                  {"{",
                   "}",
                   "[",
                   "]",
                   ",",
                   ":",
                   "\"",
                   "\"dtype\":\"F32\"",
                   "\"F16\"",
                   "\"shape\":[",
                   "\"data_offsets\":[",
                   "0",
                   "1",
                   "-1",
                   "1e3",
                   "4294967296",
                   "9223372036854775807",
                   "18446744073709551616",
                   "\"__metadata__\":{",
                   "\\u0000",
                   "\xff",
                   std::string(8, '\0'),
                   std::string(8, '\xff')},
                  20261204);
  for (int64_t left = CasesFromEnvironment("TRAIND_FUZZ_MODEL_FILES", 50000); left > 0; --left) {
    CheckSafetensors(mutator.Next());
  }
}

void MutatedConfigs(void**) {
  Mutator mutator(Configs(),
                  {"{",
                   "}",
                   "[",
                   "]",
                   ",",
                   ":",
                   "\"",
                   "null",
                   "true",
                   "false",
                   "0",
                   "-1",
                   "1",
                   "3",
                   "1e9",
                   "0.5",
                   "9223372036854775807",
                   "9223372036854775808",
                   "1e999",
                   "\"llama\"",
                   "\"gpt2\"",
                   "\"hidden_size\":",
                   "\"num_attention_heads\":",
                   "\"rope_scaling\":",
                   "\"vocab_size\":",
                   "\\ud800",
                   "\xff"},
                  20261205);
  for (int64_t left = CasesFromEnvironment("TRAIND_FUZZ_MODEL_FILES", 50000); left > 0; --left) {
    CheckConfig(mutator.Next());
  }
}

}  // namespace
}  // namespace traind::fuzzing

int main() {
  using namespace traind::fuzzing;
  const CMUnitTest tests[] = {
      cmocka_unit_test(MutatedSafetensors),
      cmocka_unit_test(MutatedConfigs),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
