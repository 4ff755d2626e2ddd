// Choosing tokens, and the config.json of a model.
#include "engine/train/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/json.h"
#include "engine/train/hf_config.h"
#include "engine/train/text_output.h"

#include "tests/support/test.h"

namespace traind::train {
namespace {

void GreedyTakesTheFirstLikeliest(void**) {
  TokenSampler sampler({.temperature = 0, .seed = 1});
  assert_int_equal(*sampler.Next(std::vector<float>{1, 3, 3, 2}), 1);
  assert_int_equal(*sampler.Next(std::vector<float>{-5}), 0);
}

void SeedsRepeat(void**) {
  const std::vector<float> logits(64, 0.5F);
  TokenSampler a({.seed = 7}), b({.seed = 7}), c({.seed = 8});
  int equal = 0;
  for (int i = 0; i < 200; ++i) {
    const int32_t token = *a.Next(logits);
    assert_int_equal(token, *b.Next(logits));
    equal += token == *c.Next(logits);
  }
  assert_true(equal < 20);
}

// The frequencies are those of the softmax: each within five standard deviations.
void DrawsFromTheSoftmax(void**) {
  const std::vector<float> logits = {0, 1, 2, -1, -60};
  for (const double temperature : {0.5, 1.0, 3.0}) {
    constexpr int kDraws = 100000;
    TokenSampler sampler({.temperature = temperature, .seed = 3});
    std::vector<int> count(logits.size());
    for (int i = 0; i < kDraws; ++i) ++count[static_cast<size_t>(*sampler.Next(logits))];
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit / temperature);
    for (size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(logits[i] / temperature) / sum;
      assert_true(std::fabs(count[i] - p * kDraws) <= 5 * std::sqrt(kDraws * p * (1 - p)) + 1e-6);
    }
  }
}

// What is kept, and in which proportions, for each pair of limits.
void DrawsFromTheLikeliest(void**) {
  struct Case {
    int64_t top_k;
    double top_p;
    std::vector<size_t> kept;
  };
  // Probabilities 0.5, 0.25, 0.125, 0.125 of tokens 2, 0, 1, 3.
  const std::vector<float> logits = {std::log(2.0F), 0, std::log(4.0F), 0};
  const std::vector<double> p = {0.25, 0.125, 0.5, 0.125};
  const Case cases[] = {{1, 1, {2}},
                        {2, 1, {2, 0}},
                        {3, 1, {2, 0, 1}},
                        {4, 1, {2, 0, 1, 3}},
                        {100, 1, {2, 0, 1, 3}},
                        {0, 0, {2}},
                        {0, 0.49, {2}},
                        {0, 0.51, {2, 0}},
                        {0, 0.76, {2, 0, 1}},
                        {0, 0.9, {2, 0, 1, 3}},
                        {2, 0.9, {2, 0}},
                        {1, 0.9, {2}},
                        // Of the two that top_k leaves, the first has two thirds.
                        {2, 0.66, {2}}};
  for (const Case& c : cases) {
    constexpr int kDraws = 20000;
    TokenSampler sampler({.temperature = 1, .top_k = c.top_k, .top_p = c.top_p, .seed = 5});
    std::vector<int> count(logits.size());
    for (int i = 0; i < kDraws; ++i) ++count[static_cast<size_t>(*sampler.Next(logits))];
    double sum = 0;
    for (const size_t token : c.kept) sum += p[token];
    for (size_t token = 0; token < logits.size(); ++token) {
      const bool kept = std::find(c.kept.begin(), c.kept.end(), token) != c.kept.end();
      const double share = kept ? p[token] / sum : 0;
      assert_true(std::fabs(count[token] - share * kDraws) <=
                  5 * std::sqrt(kDraws * share * (1 - share)) + 1e-6);
    }
  }
}

void TextEndsBeforeTheStopString(void**) {
  TextOutput output("ab.");
  assert_false(output.Add("xa"));
  assert_text(std::string(output.settled()), "x");
  assert_false(output.Add("b"));
  assert_text(std::string(output.settled()), "x");
  assert_false(output.Add("a"));  // no stop after all, but perhaps another begins
  assert_text(std::string(output.settled()), "xab");
  assert_false(output.Add("b"));
  assert_true(output.Add(".rest"));
  assert_true(output.Add("more"));
  assert_text(output.text(), "xab");
  assert_text(std::string(output.settled()), "xab");
  TextOutput at_once("\n\n");
  assert_true(at_once.Add("one\n\ntwo"));
  assert_text(at_once.text(), "one");
}

void CharactersAreShownWhole(void**) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
  TextOutput output("");
  std::string shown;
  for (const char byte : text) {
    assert_false(output.Add({&byte, 1}));
    const std::string settled(output.settled());
    assert_true(settled.starts_with(shown));
    shown = settled;
    // Only whole characters: what follows, if anything, begins one.
    assert_true(settled.size() == text.size() ||
                (static_cast<unsigned char>(text[settled.size()]) & 0xc0) != 0x80);
  }
  assert_text(shown, text);
  TextOutput nonsense("");
  assert_false(nonsense.Add("\xff\x80\x80\x80\x80"));
  assert_int_equal(nonsense.settled().size(), 5);
}

void ExtremesStayInRange(void**) {
  const std::vector<float> logits = {3e38F, -3e38F, 0};
  for (const double temperature : {1e-300, 1.0, 1e300}) {
    TokenSampler sampler({.temperature = temperature, .seed = 1});
    for (int i = 0; i < 100; ++i) {
      const auto token = sampler.Next(logits);
      assert_ok(token);
      assert_true(*token >= 0 && *token < 3);
    }
  }
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    TokenSampler sampler({.temperature = 1, .seed = 1});
    assert_code(sampler.Next(std::vector<float>{0, bad}), ErrorCode::NON_FINITE);
  }
}

void ConfigIsLlamas(void**) {
  ModelSpec spec;
  spec.hidden_size = 64;
  spec.num_hidden_layers = 2;
  spec.num_attention_heads = 4;
  spec.num_key_value_heads = 2;
  spec.intermediate_size = 192;
  spec.max_position_embeddings = 128;
  spec.tie_word_embeddings = true;
  const auto config = ParseJson(HuggingFaceConfig(spec));
  assert_ok(config);
  const Json expected = {{"architectures", {"LlamaForCausalLM"}},
                         {"model_type", "llama"},
                         {"vocab_size", 256},
                         {"hidden_size", 64},
                         {"intermediate_size", 192},
                         {"num_hidden_layers", 2},
                         {"num_attention_heads", 4},
                         {"num_key_value_heads", 2},
                         {"head_dim", 16},
                         {"hidden_act", "silu"},
                         {"max_position_embeddings", 128},
                         {"initializer_range", 0.02},
                         {"rms_norm_eps", 1e-5},
                         {"rope_theta", 10000.0},
                         {"rope_scaling", nullptr},
                         {"attention_bias", false},
                         {"attention_dropout", 0.0},
                         {"mlp_bias", false},
                         {"pretraining_tp", 1},
                         {"tie_word_embeddings", true},
                         {"bos_token_id", 0},
                         {"eos_token_id", 0},
                         {"pad_token_id", nullptr},
                         {"use_cache", true},
                         {"torch_dtype", "float32"},
                         {"tokenizer", "bytes"}};
  assert_true(*config == expected);
}

}  // namespace
}  // namespace traind::train

int main() {
  using namespace traind::train;
  const CMUnitTest tests[] = {
      cmocka_unit_test(GreedyTakesTheFirstLikeliest), cmocka_unit_test(SeedsRepeat),
      cmocka_unit_test(DrawsFromTheSoftmax),          cmocka_unit_test(DrawsFromTheLikeliest),
      cmocka_unit_test(TextEndsBeforeTheStopString),  cmocka_unit_test(CharactersAreShownWhole),
      cmocka_unit_test(ExtremesStayInRange),          cmocka_unit_test(ConfigIsLlamas),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
