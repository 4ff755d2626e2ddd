// tokenizer.json files that are wrong, each in its own way, and patterns that never end.
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/data/tokenizers/files.h"
#include "engine/data/tokenizers/hf_tokenizer.h"
#include "tests/support/scratch.h"

#include "tests/support/test.h"

namespace traind::data {
namespace {

// A good one, with one field replaced (by a JSON pointer), or taken away where `value` is empty.
std::string With(const std::string& pointer, const std::string& value) {
  Json root = *ParseJson(R"({
    "added_tokens": [{"id": 0, "content": "<|endoftext|>", "special": true, "normalized": false}],
    "normalizer": null,
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "\\w+|\\W"}, "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
    "post_processor": null,
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"<|endoftext|>": 0, "a": 1, "b": 2, "ab": 3, "aa": 4},
              "merges": [["a", "b"], ["a", "a"]]}})");
  const Json::json_pointer place(pointer);
  if (value.empty()) {
    root.at(place.parent_pointer()).erase(place.back());
  } else {
    root[place] = *ParseJson(value);
  }
  return DumpJson(root);
}

struct Wrong {
  std::string pointer;
  std::string value;  // empty: the field is missing
  std::string says;
};

const std::vector<Wrong>& Wrongs() {
  static const std::vector<Wrong> wrongs = {
      {"/model", "", "model is missing; it must be an object"},
      {"/model", "[]", "model is a list; it must be an object"},
      {"/model/type", "\"Unigram\"", "model.type is 'Unigram'; BPE can be used"},
      {"/model/type", "7", "model.type is a number; it must be a string"},
      {"/model/vocab", "", "model.vocab is missing; it must be an object of token → id"},
      {"/model/vocab", "[\"a\"]", "model.vocab is a list"},
      {"/model/vocab/a", "\"1\"", "model.vocab['a'] is a string; it must be an id, 0 or more"},
      {"/model/vocab/a", "-1", "model.vocab['a'] is a number; it must be an id, 0 or more"},
      {"/model/vocab/a", "1.5", "model.vocab['a'] is a number; it must be an id"},
      {"/model/vocab/a", "70000", "gives 'a' the id 70000; with this many tokens ids must be below 65542"},
      {"/model/vocab/a", "4294967296", "gives 'a' the id"},
      {"/model/vocab/a", "18446744073709551615", "gives 'a' the id"},
      {"/model/vocab/a", "2", "gives id 2 to 'a' and to 'b'"},
      {"/model/merges", "", "model.merges is missing; it must be a list"},
      {"/model/merges", "{}", "model.merges is an object; it must be a list"},
      {"/model/merges/0", "[\"a\"]", "model.merges[0] is a list; it must be two tokens"},
      {"/model/merges/1", "[\"a\", 2]", "model.merges[1] is a list; it must be two tokens"},
      {"/model/merges/0", "\"ab\"", "model.merges[0] is 'ab'; two tokens with one space between them"},
      {"/model/merges/0", "\"a  b\"", "model.merges[0] is 'a  b'; two tokens"},
      {"/model/merges/1", "[\"a\", \"x\"]", "model.merges[1] names 'x', which is not in model.vocab"},
      {"/model/merges/1", "[\"b\", \"a\"]", "model.merges[1] names 'ba', which is not in model.vocab"},
      {"/model/dropout", "0.1", "model.dropout is set"},
      {"/model/end_of_word_suffix", "\"</w>\"", "model.end_of_word_suffix is not empty"},
      {"/model/unk_token", "\"<unk>\"", "model.unk_token names '<unk>', which is not in model.vocab"},
      {"/model/unk_token", "3", "model.unk_token is a number; it must be a string or null"},
      {"/model/ignore_merges", "\"yes\"", "model.ignore_merges is a string; it must be true or false"},
      {"/added_tokens", "{}", "added_tokens is an object; it must be a list"},
      {"/added_tokens/0", "\"x\"", "added_tokens[0] is a string; it must be an object"},
      {"/added_tokens/0/id", "", "added_tokens[0].id is missing; it must be an id, 0 or more"},
      {"/added_tokens/0/id", "99999999", "added_tokens[0].id is 99999999; ids must be below 16777216"},
      {"/added_tokens/0/id", "2", "added_tokens[0] gives '<|endoftext|>' the id 2; in model.vocab it is 0"},
      {"/added_tokens/0/content", "\"\"", "added_tokens[0].content is empty"},
      {"/added_tokens/0/content", "\"new\"", "added_tokens[0] gives id 0 to '<|endoftext|>' and to 'new'"},
      {"/added_tokens/0/lstrip", "1", "added_tokens[0].lstrip is a number; it must be true or false"},
      {"/added_tokens/1", R"({"id": 9, "content": "<|endoftext|>"})", "'<|endoftext|>' is there already"},
      {"/pre_tokenizer/pretokenizers/0/pattern", R"({"Regex": "(a"})",
       "pre_tokenizer.pretokenizers[0].pattern: the pattern '(a' cannot be used: missing closing "
       "parenthesis"},
      {"/pre_tokenizer/pretokenizers/0/pattern", R"({"Regex": "a\\C"})", "cannot be used"},
      {"/pre_tokenizer/pretokenizers/0/pattern", R"("x")", R"(it must be {"Regex": …} or {"String": …})"},
      {"/pre_tokenizer/pretokenizers/0/behavior", R"("Isolate")", "behavior is 'Isolate'; known: Isolated"},
      {"/pre_tokenizer/pretokenizers/0/type", R"("Splat")", "pre_tokenizer.pretokenizers[0].type is 'Splat'"},
      {"/pre_tokenizer/pretokenizers", "7", "pre_tokenizer.pretokenizers is a number; it must be a list"},
      {"/pre_tokenizer/pretokenizers/2", R"({"type": "Digits"})", "comes after ByteLevel"},
      {"/pre_tokenizer", "[]", "pre_tokenizer is a list; it must be an object"},
      {"/normalizer", R"({"type": "BertNormalizer"})",
       "normalizer.type is 'BertNormalizer'; known: Sequence"},
      {"/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "Replace", "content": "x"}]})",
       "normalizer.normalizers[0].pattern is missing"},
      {"/decoder", R"({"type": "WordPiece"})", "decoder.type is 'WordPiece'"},
      {"/post_processor", R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]})",
       "post_processor.single names '<s>', which is not in model.vocab"},
      {"/post_processor", R"({"type": "BertProcessing"})", "post_processor.type is 'BertProcessing'"},
  };
  return wrongs;
}

void each_is_refused_with_its_place(void**) {
  assert_ok(ParseHfTokenizer(With("/normalizer", "null"), ""));
  for (const Wrong& wrong : Wrongs()) {
    const auto parsed = ParseHfTokenizer(With(wrong.pointer, wrong.value), "");
    if (parsed.ok() || parsed.status().code() != ErrorCode::DAMAGED_TOKENIZER ||
        parsed.status().message().find(wrong.says) == std::string::npos) {
      std::fprintf(stderr, "%s = %s: %s\n  expected: %s\n", wrong.pointer.c_str(), wrong.value.c_str(),
                   parsed.status().ToString().c_str(), wrong.says.c_str());
      fail();
    }
  }
}

void texts_that_are_no_json(void**) {
  for (const std::string& text :
       {std::string(), std::string("nonsense"), std::string("{\"model\":"), std::string("[1]"),
        std::string("\xff\xfe"), std::string(100000, '['), std::string(100, '[') + std::string(100, ']')}) {
    assert_code(ParseHfTokenizer(text, ""), ErrorCode::DAMAGED_TOKENIZER);
  }
  assert_code(ParseHfTokenizer(std::string(kMaxTokenizerBytes + 1, ' '), ""), ErrorCode::DAMAGED_TOKENIZER);
}

void sequences_nest_within_limits(void**) {
  std::string nested = R"({"type": "NFC"})";
  for (int i = 0; i < 20; ++i) nested = R"({"type": "Sequence", "normalizers": [)" + nested + "]}";
  assert_ok(ParseHfTokenizer(With("/normalizer", nested), ""));
  std::string many = R"({"type": "NFC"})";
  for (int i = 0; i < 100; ++i) many += R"(,{"type": "NFC"})";
  const auto parsed =
      ParseHfTokenizer(With("/normalizer", R"({"type": "Sequence", "normalizers": [)" + many + "]}"), "");
  assert_code(parsed, ErrorCode::DAMAGED_TOKENIZER);
}

void a_pattern_that_backtracks_for_ever_is_stopped(void**) {
  for (const char* pattern :
       {R"({"Regex": "(a+)+[!?]"})", R"({"Regex": "(a|aa)+[!?]"})", R"({"Regex": "(.*?,){20}[!?]"})"}) {
    auto parts = ParseHfTokenizer(With("/pre_tokenizer/pretokenizers/0/pattern", pattern), "");
    assert_ok(parts);
    const HfTokenizer tokenizer(*std::move(parts));
    std::vector<TokenId> ids;
    const Status status = tokenizer.Encode(std::string(60, 'a') + std::string(60, ','), &ids);
    if (!status.ok()) assert_code(status, ErrorCode::TEXT_NOT_TOKENIZABLE);
  }
  auto parts =
      ParseHfTokenizer(With("/pre_tokenizer/pretokenizers/0/pattern", R"({"Regex": "(a+)+[!?]"})"), "");
  const HfTokenizer tokenizer(*std::move(parts));
  std::vector<TokenId> ids;
  const Status status = tokenizer.Encode(std::string(60, 'a') + "b", &ids);
  assert_code(status, ErrorCode::TEXT_NOT_TOKENIZABLE);
  assert_true(status.message().find("'(a+)+[!?]' gives up at byte 0 of a piece of 61") != std::string::npos);
}

void a_word_longer_than_the_limit_is_refused(void**) {
  auto parts = ParseHfTokenizer(With("/normalizer", "null"), "");
  const HfTokenizer tokenizer(*std::move(parts));
  const auto encoder = tokenizer.NewEncoder();
  const std::string piece(8 << 20, 'a');
  std::vector<TokenId> ids;
  Status status;
  for (int i = 0; i < 9 && status.ok(); ++i) status = encoder->Append(piece, &ids);
  assert_code(status, ErrorCode::TEXT_NOT_TOKENIZABLE);
}

void unknown_characters_vanish_as_the_model_says(void**) {
  auto parts = ParseHfTokenizer(With("/normalizer", "null"), "");
  const HfTokenizer tokenizer(*std::move(parts));
  std::vector<TokenId> ids;
  assert_ok(tokenizer.Encode("aabxab", &ids));
  assert_true(ids == (std::vector<TokenId>{4, 2, 3}) || ids == (std::vector<TokenId>{1, 3, 3}));
}

void the_end_of_text_must_be_known(void**) {
  const std::string text = With("/normalizer", "null");
  const auto named = ParseHfTokenizer(text, "ab");
  assert_ok(named);
  assert_int_equal(named->end_of_text, 3);
  assert_code(ParseHfTokenizer(text, "xyz"), ErrorCode::DAMAGED_TOKENIZER);
  Json root = *ParseJson(text);
  root["added_tokens"] = Json::array();
  root["model"]["vocab"].erase("<|endoftext|>");
  const auto unnamed = ParseHfTokenizer(DumpJson(root), "");
  assert_code(unnamed, ErrorCode::DAMAGED_TOKENIZER);
  assert_text(unnamed.status().message(), "no token is known to end a text");
}

void files_are_found_and_stored(void**) {
  const testing::Scratch scratch;
  Io& io = PosixIo();
  assert_code(OpenTokenizer(io, scratch / "no.json"), ErrorCode::FILE_NOT_FOUND);
  assert_code(OpenTokenizer(io, scratch.path()), ErrorCode::FILE_NOT_FOUND);
  scratch.Write("tokenizer.json", With("/normalizer", "null"));
  scratch.Write("tokenizer_config.json", R"({"eos_token": {"content": "ab"}})");
  const auto files = ReadTokenizerFiles(io, scratch.path());
  assert_ok(files);
  auto tokenizer = MakeTokenizer(*files, "", scratch.path());
  assert_ok(tokenizer);
  assert_int_equal((*tokenizer)->end_of_text(), 3);
  tokenizer = MakeTokenizer(*files, "<|endoftext|>", scratch.path());
  assert_int_equal((*tokenizer)->end_of_text(), 0);
  assert_ok(StoreTokenizer(io, scratch / "kept/1", "u", *files, **tokenizer));
  const auto kept = OpenTokenizer(io, scratch / "kept/1");
  assert_ok(kept);
  assert_int_equal((*kept)->end_of_text(), 0);
  assert_text((*kept)->key(), (*tokenizer)->key());
  scratch.Write("tokenizer.model", "no protobuf");
  assert_code(OpenTokenizer(io, scratch / "tokenizer.model"), ErrorCode::DAMAGED_TOKENIZER);
  const auto damaged = OpenTokenizer(io, scratch.Write("broken.json", "{"));
  assert_code(damaged, ErrorCode::DAMAGED_TOKENIZER);
  assert_true(damaged.status().message().starts_with(scratch / "broken.json: "));
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_is_refused_with_its_place),
      cmocka_unit_test(texts_that_are_no_json),
      cmocka_unit_test(sequences_nest_within_limits),
      cmocka_unit_test(a_pattern_that_backtracks_for_ever_is_stopped),
      cmocka_unit_test(a_word_longer_than_the_limit_is_refused),
      cmocka_unit_test(unknown_characters_vanish_as_the_model_says),
      cmocka_unit_test(the_end_of_text_must_be_known),
      cmocka_unit_test(files_are_found_and_stored),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
