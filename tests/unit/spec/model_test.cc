// ModelSpec: what is refused and which option is blamed, sizes by hand, JSON there and back.
#include "engine/spec/model.h"

#include <limits>

#include "tests/support/test.h"

namespace traind {
namespace {

ModelSpec Tiny() {
  ModelSpec model;
  model.hidden_size = 64;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 4;
  model.num_key_value_heads = 2;
  model.intermediate_size = 192;
  model.max_position_embeddings = 128;
  return model;
}

// The option that ValidateModel blames, or "" if the model is sound.
std::string Blamed(const ModelSpec& model) {
  const Status status = ValidateModel(model);
  if (status.ok()) return "";
  assert_int_equal(status.code(), ErrorCode::INVALID_OPTION);
  const auto detail = ParseJson(status.detail_json());
  assert_ok(detail);
  return *GetString(*detail, "option");
}

void a_sound_model_passes(void**) {
  assert_ok(ValidateModel(Tiny()));
}

void each_bad_size_is_blamed(void**) {
  const struct {
    const char* option;
    int64_t ModelSpec::*size;
  } sizes[] = {{"hidden_size", &ModelSpec::hidden_size},
               {"num_hidden_layers", &ModelSpec::num_hidden_layers},
               {"num_attention_heads", &ModelSpec::num_attention_heads},
               {"num_key_value_heads", &ModelSpec::num_key_value_heads},
               {"intermediate_size", &ModelSpec::intermediate_size},
               {"vocab_size", &ModelSpec::vocab_size},
               {"max_position_embeddings", &ModelSpec::max_position_embeddings}};
  for (const auto& row : sizes) {
    for (const int64_t size : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max(), int64_t{1} << 40}) {
      ModelSpec model = Tiny();
      model.*row.size = size;
      assert_text(Blamed(model), row.option);
    }
  }
}

void divisibility(void**) {
  ModelSpec model = Tiny();
  model.hidden_size = 65;
  assert_text(Blamed(model), "hidden_size");
  assert_text(ValidateModel(model).message(), "hidden_size 65 is not a multiple of num_attention_heads 4");
  model.hidden_size = 4 * 7;  // heads of 7
  assert_text(Blamed(model), "hidden_size");
  model = Tiny();
  model.num_key_value_heads = 3;
  assert_text(Blamed(model), "num_key_value_heads");
  model.num_key_value_heads = 8;
  assert_text(Blamed(model), "num_key_value_heads");
}

void real_numbers_have_ranges(void**) {
  const struct {
    const char* option;
    double ModelSpec::*value;
  } reals[] = {{"rms_norm_eps", &ModelSpec::rms_norm_eps},
               {"rope_theta", &ModelSpec::rope_theta},
               {"initializer_range", &ModelSpec::initializer_range}};
  for (const auto& row : reals) {
    for (const double value : {0.0, -1.0, __builtin_nan(""), __builtin_inf(), 1e300}) {
      ModelSpec model = Tiny();
      model.*row.value = value;
      assert_text(Blamed(model), row.option);
    }
  }
}

void the_tokenizer_needs_its_vocabulary(void**) {
  ModelSpec model = Tiny();
  model.vocab_size = 255;
  assert_text(Blamed(model), "vocab_size");
  model.vocab_size = 256;
  assert_text(Blamed(model), "");
  model.vocab_size = 257;
  assert_text(Blamed(model), "");
  model.tokenizer = "t16k";
  assert_text(Blamed(model), "tokenizer");
}

void absurd_products_are_refused(void**) {
  ModelSpec model = Tiny();
  model.hidden_size = 1 << 20;
  model.intermediate_size = 1 << 24;
  model.num_hidden_layers = 1 << 16;
  assert_text(Blamed(model), "hidden_size");
  model.num_hidden_layers = 1024;  // 6·10^16 parameters can still be counted, to be refused by the planner
  assert_ok(ValidateModel(model));
  assert_true(ParameterCount(model) > 0);
}

void parameters_by_hand(void**) {
  // embedding 256·64 and a head as large; per layer q 64·64, k and v 64·32, o 64·64, three of 64·192, two
  // norms; one last norm.
  const int64_t layer = 4096 + 2048 + 2048 + 4096 + 3 * 12288 + 128;
  ModelSpec model = Tiny();
  assert_int_equal(ParameterCount(model), 2 * 16384 + 2 * layer + 64);
  model.tie_word_embeddings = true;
  assert_int_equal(ParameterCount(model), 16384 + 2 * layer + 64);
}

void a_published_model_has_its_size(void**) {
  ModelSpec llama_7b;
  llama_7b.hidden_size = 4096;
  llama_7b.num_hidden_layers = 32;
  llama_7b.num_attention_heads = 32;
  llama_7b.num_key_value_heads = 32;
  llama_7b.intermediate_size = 11008;
  llama_7b.vocab_size = 32000;
  llama_7b.max_position_embeddings = 4096;
  assert_true(ParameterCount(llama_7b) == 6738415616);
}

void flops_count_the_head_but_not_the_table(void**) {
  ModelSpec model = Tiny();
  const auto used = static_cast<double>(ParameterCount(model) - 16384);
  assert_true(TrainFlopsPerToken(model, 128) == 6 * used + 12.0 * 2 * 64 * 128);
  const double untied = TrainFlopsPerToken(model, 128);
  model.tie_word_embeddings = true;
  assert_true(TrainFlopsPerToken(model, 128) == untied);
}

void architectures_have_names(void**) {
  assert_text(ArchitectureName(Architecture::kLlama), "llama");
  assert_true(*ParseArchitecture("llama") == Architecture::kLlama);
  const Status status = ParseArchitecture("lama").status();
  assert_int_equal(status.code(), ErrorCode::UNKNOWN_ARCHITECTURE);
  assert_text(status.message(), "unknown architecture 'lama'; did you mean 'llama'?");
  assert_text(status.hint(), "Known: llama.");
  assert_text(ParseArchitecture("resnet").status().message(), "unknown architecture 'resnet'");
  assert_code(ParseArchitecture(""), ErrorCode::UNKNOWN_ARCHITECTURE);
}

void json_keeps_everything(void**) {
  ModelSpec model = Tiny();
  model.rms_norm_eps = 1e-6;
  model.rope_theta = 500000;
  model.initializer_range = 0.015;
  model.tie_word_embeddings = true;
  model.vocab_size = 300;
  const auto read = ModelFromJson(*ParseJson(DumpJson(ModelToJson(model))));
  assert_ok(read);
  assert_true(*read == model);
}

void json_without_a_field_is_refused(void**) {
  const Json whole = ModelToJson(Tiny());
  for (const auto& [key, value] : whole.items()) {
    Json object = whole;
    object.erase(key);
    assert_false(ModelFromJson(object).ok());
    object[key] = Json::array();
    assert_false(ModelFromJson(object).ok());
  }
  assert_code(ModelFromJson(Json(3)), ErrorCode::MALFORMED_FRAME);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_sound_model_passes),
      cmocka_unit_test(each_bad_size_is_blamed),
      cmocka_unit_test(divisibility),
      cmocka_unit_test(real_numbers_have_ranges),
      cmocka_unit_test(the_tokenizer_needs_its_vocabulary),
      cmocka_unit_test(absurd_products_are_refused),
      cmocka_unit_test(parameters_by_hand),
      cmocka_unit_test(a_published_model_has_its_size),
      cmocka_unit_test(flops_count_the_head_but_not_the_table),
      cmocka_unit_test(architectures_have_names),
      cmocka_unit_test(json_keeps_everything),
      cmocka_unit_test(json_without_a_field_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
