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

ModelSpec TinyGpt2() {
  ModelSpec model = Tiny();
  model.architecture = Architecture::kGpt2;
  model.num_key_value_heads = 4;
  model.tie_word_embeddings = true;
  return model;
}

void gpt2_has_rules_of_its_own(void**) {
  assert_ok(ValidateModel(TinyGpt2()));
  ModelSpec model = TinyGpt2();
  model.num_key_value_heads = 2;
  assert_text(Blamed(model), "num_key_value_heads");
  model = TinyGpt2();
  model.hidden_size = 4 * 7;  // odd heads are fine where nothing is rotated
  assert_ok(ValidateModel(model));
  model.layer_norm_epsilon = 0;
  assert_text(Blamed(model), "layer_norm_epsilon");
  model = TinyGpt2();
  model.rms_norm_eps = 0;  // no field of gpt2
  assert_ok(ValidateModel(model));
  model.rope_scaling = RopeScaling::kLinear;
  assert_text(Blamed(model), "rope_scaling");
}

void options_belong_to_families(void**) {
  for (const char* option :
       {"hidden_size", "vocab_size", "initializer_range", "tie_word_embeddings", "tokenizer"}) {
    assert_true(HasOption(Architecture::kLlama, option) && HasOption(Architecture::kGpt2, option));
  }
  for (const char* option :
       {"rope_theta", "rope_scaling", "rope_scaling_factor", "rms_norm_eps", "num_key_value_heads"}) {
    assert_true(HasOption(Architecture::kLlama, option) && !HasOption(Architecture::kGpt2, option));
  }
  assert_true(HasOption(Architecture::kGpt2, "layer_norm_epsilon") &&
              !HasOption(Architecture::kQwen2, "layer_norm_epsilon"));
}

void rope_scaling_has_ranges(void**) {
  ModelSpec model = Tiny();
  model.rope_scaling_factor = 0;  // means nothing yet
  assert_ok(ValidateModel(model));
  for (const RopeScaling scaling : {RopeScaling::kLinear, RopeScaling::kLlama3}) {
    model = Tiny();
    model.rope_scaling = scaling;
    for (const double bad : {0.0, -1.0, 0.5, __builtin_nan(""), __builtin_inf()}) {
      model.rope_scaling_factor = bad;
      assert_text(Blamed(model), "rope_scaling_factor");
    }
    model.rope_scaling_factor = 8;
    assert_ok(ValidateModel(model));
  }
  model.rope_high_freq_factor = model.rope_low_freq_factor;
  assert_text(Blamed(model), "rope_high_freq_factor");
  model.rope_high_freq_factor = 4;
  model.rope_original_max_position_embeddings = 0;
  assert_text(Blamed(model), "rope_original_max_position_embeddings");
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

void published_gpt2s_have_their_sizes(void**) {
  const struct {
    int64_t hidden, layers, heads, parameters;
  } rows[] = {{768, 12, 12, 124439808},
              {1024, 24, 16, 354823168},
              {1280, 36, 20, 774030080},
              {1600, 48, 25, 1557611200}};
  for (const auto& row : rows) {
    ModelSpec model;
    model.architecture = Architecture::kGpt2;
    model.hidden_size = row.hidden;
    model.num_hidden_layers = row.layers;
    model.num_attention_heads = model.num_key_value_heads = row.heads;
    model.intermediate_size = 4 * row.hidden;
    model.vocab_size = 50257;
    model.max_position_embeddings = 1024;
    model.tie_word_embeddings = true;
    assert_ok(ValidateModel(model));
    assert_int_equal(ParameterCount(model), row.parameters);
    // The table of positions is only looked up.
    const auto used = static_cast<double>(row.parameters - 1024 * row.hidden);
    assert_true(TrainFlopsPerToken(model, 256) ==
                6 * used + 12.0 * static_cast<double>(row.layers * row.hidden) * 256);
  }
}

void qwen2_has_biases(void**) {
  ModelSpec model = Tiny();
  const int64_t without = ParameterCount(model);
  model.architecture = Architecture::kQwen2;
  assert_int_equal(ParameterCount(model), without + 2 * (64 + 2 * 32));
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
  assert_text(status.hint(), "Known: llama, gpt2, qwen2.");
  assert_true(*ParseArchitecture("gpt2") == Architecture::kGpt2);
  assert_true(*ParseArchitecture("qwen2") == Architecture::kQwen2);
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
  ModelSpec scaled = model;
  scaled.rope_scaling = RopeScaling::kLlama3;
  scaled.rope_scaling_factor = 32;
  scaled.rope_low_freq_factor = 2;
  scaled.rope_high_freq_factor = 5;
  scaled.rope_original_max_position_embeddings = 77;
  ModelSpec stretched = model;
  stretched.architecture = Architecture::kQwen2;
  stretched.rope_scaling = RopeScaling::kLinear;
  stretched.rope_scaling_factor = 2;
  ModelSpec gpt2 = TinyGpt2();
  gpt2.layer_norm_epsilon = 1e-6;
  for (const ModelSpec& each : {scaled, stretched, gpt2}) {
    const auto again = ModelFromJson(*ParseJson(DumpJson(ModelToJson(each))));
    assert_ok(again);
    assert_true(*again == each);
  }
  assert_false(ModelToJson(gpt2).contains("rope_theta"));
}

void json_without_a_field_is_refused(const ModelSpec& model) {
  const Json whole = ModelToJson(model);
  for (const auto& [key, value] : whole.items()) {
    Json object = whole;
    object.erase(key);
    // Models that were kept before there were tokenizers have neither of these.
    if (key != "tokenizer_id" && key != "end_of_text") assert_false(ModelFromJson(object).ok());
    object[key] = Json::array();
    assert_false(ModelFromJson(object).ok());
  }
}

void json_without_a_field_is_refused(void**) {
  ModelSpec scaled = Tiny();
  scaled.rope_scaling = RopeScaling::kLlama3;
  for (const ModelSpec& model : {Tiny(), TinyGpt2(), scaled}) json_without_a_field_is_refused(model);
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
      cmocka_unit_test(gpt2_has_rules_of_its_own),
      cmocka_unit_test(options_belong_to_families),
      cmocka_unit_test(rope_scaling_has_ranges),
      cmocka_unit_test(published_gpt2s_have_their_sizes),
      cmocka_unit_test(qwen2_has_biases),
      cmocka_unit_test(parameters_by_hand),
      cmocka_unit_test(a_published_model_has_its_size),
      cmocka_unit_test(flops_count_the_head_but_not_the_table),
      cmocka_unit_test(architectures_have_names),
      cmocka_unit_test(json_keeps_everything),
      cmocka_unit_test(json_without_a_field_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
