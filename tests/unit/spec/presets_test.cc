// Presets: each has the parameters that its source publishes.
#include "engine/spec/presets.h"

#include <map>
#include <string>

#include "tests/support/test.h"

namespace traind {
namespace {

// From the models' files and papers, not from the table.
const std::map<std::string, int64_t, std::less<>> kParameters = {
    {"gpt2-124m", 124439808},     {"gpt2-355m", 354823168},     {"gpt2-774m", 774030080},
    {"gpt2-1.5b", 1557611200},    {"smollm-135m", 134515008},   {"tinyllama-1.1b", 1100048384},
    {"llama-2-7b", 6738415616},   {"llama-2-13b", 13015864320}, {"llama-2-70b", 68976648192},
    {"llama-3-8b", 8030261248},   {"llama-3-70b", 70553706496}, {"llama-3.1-8b", 8030261248},
    {"llama-3.2-1b", 1235814400}, {"llama-3.2-3b", 3212749824}, {"qwen2-0.5b", 494032768},
    {"qwen2-1.5b", 1543714304},   {"qwen2-7b", 7615616512},
};

void each_has_its_published_size(void**) {
  assert_int_equal(Presets().size(), kParameters.size());
  for (const Preset& preset : Presets()) {
    const auto model = PresetModel(preset.name);
    assert_ok(model);
    assert_ok(ValidateModel(*model));
    const auto expected = kParameters.find(preset.name);
    assert_true(expected != kParameters.end());
    if (ParameterCount(*model) != expected->second) {
      fail_msg("%s has %ld parameters", expected->first.c_str(), static_cast<long>(ParameterCount(*model)));
    }
  }
}

void details_of_some(void**) {
  const ModelSpec gpt2 = *PresetModel("gpt2-124m");
  assert_true(gpt2.architecture == Architecture::kGpt2 && gpt2.layer_norm_epsilon == 1e-5);
  const ModelSpec llama = *PresetModel("llama-3.2-1b");
  assert_true(llama.rope_scaling == RopeScaling::kLlama3 && llama.rope_scaling_factor == 32 &&
              llama.rope_theta == 500000 && llama.rope_original_max_position_embeddings == 8192);
  assert_true(PresetModel("qwen2-0.5b")->rms_norm_eps == 1e-6);
}

void unknown_names_show_the_nearest(void**) {
  const Status status = PresetModel("gpt2-124").status();
  assert_int_equal(status.code(), ErrorCode::NO_SUCH_MODEL);
  assert_text(status.message(), "there is no preset 'gpt2-124'; did you mean 'gpt2-124m'?");
  assert_code(PresetModel(""), ErrorCode::NO_SUCH_MODEL);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_has_its_published_size),
      cmocka_unit_test(details_of_some),
      cmocka_unit_test(unknown_names_show_the_nearest),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
