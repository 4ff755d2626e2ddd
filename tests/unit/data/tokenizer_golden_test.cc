// Ids and merges against those of the `tokenizers` package (tests/data/tokenizers/make_golden.py made them).
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/json.h"
#include "engine/data/tokenizers/bpe_trainer.h"
#include "engine/data/tokenizers/hf_tokenizer.h"
#include "engine/data/tokenizers/patterns.h"

#include "tests/support/test.h"

namespace traind::data {
namespace {

constexpr const char* kFamilies[] = {"gpt2", "llama3", "qwen", "spaced", "llama2"};

// $TRAIND_TOKENIZERS, where tokenizer_live_test.py makes them anew; else the committed ones.
std::string Folder() {
  if (const char* made = std::getenv("TRAIND_TOKENIZERS")) return made;
  const char* source = std::getenv("TRAIND_SOURCE");
  assert_non_null(source);
  return std::string(source) + "/tests/data/tokenizers";
}

std::string Read(const std::string& name) {
  const auto text = ReadWholeFile(PosixIo(), Folder() + "/" + name, 1 << 28);
  assert_ok(text);
  return *text;
}

Json ReadJson(const std::string& name) {
  const auto json = ParseJson(Read(name));
  assert_ok(json);
  return *json;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::unique_ptr<HfTokenizer> Open(const std::string& family) {
  auto parts = ParseHfTokenizer(Read(family + ".json"), "");
  assert_ok(parts);
  return std::make_unique<HfTokenizer>(*std::move(parts));
}

std::vector<TokenId> EncodeInPieces(DocumentEncoder* encoder, std::string_view text, size_t piece) {
  std::vector<TokenId> ids;
  for (size_t at = 0; at < text.size(); at += piece) assert_ok(encoder->Append(text.substr(at, piece), &ids));
  assert_ok(encoder->Finish(&ids));
  return ids;
}

void ids_are_the_packages(void**) {
  const Json cases = ReadJson("cases.json");
  for (const std::string family : kFamilies) {
    const auto tokenizer = Open(family);
    const Json& expected = cases["ids"][family];
    assert_int_equal(expected.size(), cases["texts"].size());
    const auto encoder = tokenizer->NewEncoder();  // one for all: nothing may be left of the last document
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string text = FromHex(cases["texts"][i].get<std::string>());
      const auto wanted = expected[i].get<std::vector<TokenId>>();
      for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}}) {
        if (EncodeInPieces(encoder.get(), text, piece) == wanted) continue;
        std::fprintf(stderr, "%s, text %zu in pieces of %zu: %s\n", family.c_str(), i, piece, text.c_str());
        fail();
      }
    }
  }
}

void decoding_gives_the_text_back(void**) {
  const Json cases = ReadJson("cases.json");
  for (const std::string family : {"gpt2", "llama3", "llama2"}) {
    const auto tokenizer = Open(family);
    for (size_t i = 0; i < cases["texts"].size(); ++i) {
      const auto ids = cases["ids"][family][i].get<std::vector<TokenId>>();
      assert_true(tokenizer->Decode(ids) == FromHex(cases["texts"][i].get<std::string>()));
    }
  }
}

void any_bytes_come_back(void**) {
  std::mt19937 random(1);
  for (const std::string family : {"gpt2", "llama3"}) {
    const auto tokenizer = Open(family);
    for (int round = 0; round < 300; ++round) {
      std::string bytes(random() % 60, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? 'a' + random() % 3 : random());
      std::vector<TokenId> ids;
      assert_ok(tokenizer->Encode(bytes, &ids));
      assert_true(tokenizer->Decode(ids) == bytes);
      assert_true(EncodeInPieces(tokenizer->NewEncoder().get(), bytes, 1) == ids);
    }
  }
}

void invalid_bytes_stand_alone(void**) {
  const auto tokenizer = Open("gpt2");
  const auto encode = [&](std::string_view text) {
    std::vector<TokenId> ids;
    assert_ok(tokenizer->Encode(text, &ids));
    return ids;
  };
  // A cut character, a lone continuation byte, a surrogate and an overlong form between words.
  for (const std::string_view bad : {"\xe2\x82", "\x80", "\xed\xa0\x80", "\xc0\xaf", "\xff\xff"}) {
    std::vector<TokenId> expected = encode("the end");
    for (const TokenId id : encode(bad)) expected.push_back(id);
    for (const TokenId id : encode(" of it")) expected.push_back(id);
    assert_true(encode("the end" + std::string(bad) + " of it") == expected);
  }
}

void what_a_tokenizer_says_of_itself(void**) {
  const auto gpt2 = Open("gpt2");
  const auto llama3 = Open("llama3");
  assert_int_equal(gpt2->vocab_size(), 800);
  assert_text(gpt2->BytesOf(gpt2->end_of_text()), "<|endoftext|>");
  assert_true(gpt2->IsSpecial(gpt2->end_of_text()));
  assert_false(gpt2->IsSpecial(300));
  assert_true(gpt2->prefix().empty());
  assert_int_equal(llama3->prefix().size(), 1);
  assert_text(llama3->BytesOf(llama3->prefix()[0]), "<|begin_of_text|>");
  assert_true(gpt2->key() != llama3->key());
  assert_true(gpt2->key() == Open("gpt2")->key());
  assert_true(gpt2->BytesOf(800).empty());
  assert_true(gpt2->BytesOf(-1).empty());
}

WordCounts CountWords(const Json& documents, std::string_view pattern) {
  std::vector<SplitStep> steps(1);
  auto compiled = Pattern::Compile(pattern);
  assert_ok(compiled);
  steps[0].pattern = *compiled;
  PreTokenizer pre_tokenizer(&steps);
  WordCounts counts;
  const auto take = [&](std::string_view word) { return counts.Add(word); };
  for (const Json& document : documents) {
    assert_ok(pre_tokenizer.Append(FromHex(document.get<std::string>()), take));
    assert_ok(pre_tokenizer.Finish(true, take));
  }
  return counts;
}

void the_trainer_learns_the_packages_merges(void**) {
  const Json learned = ReadJson("merges.json");
  for (const Json& run : learned["runs"]) {
    const std::string_view pattern = FindPattern(run["pattern"].get<std::string>())->expression;
    const WordCounts counts = CountWords(learned["documents"], pattern);
    BpeTrainerOptions options;
    options.vocab_size = run["vocab_size"].get<int64_t>();
    options.min_frequency = run["min_frequency"].get<int64_t>();
    options.special_tokens = {"<|endoftext|>"};
    const auto vocabulary = TrainBpe(counts, options);
    assert_ok(vocabulary);
    const auto json = ParseJson(TokenizerJson(*vocabulary, options.special_tokens, pattern));
    assert_ok(json);
    assert_true((*json)["model"]["merges"] == run["merges"]);
    assert_ok(ParseHfTokenizer(DumpJson(*json), ""));
  }
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_the_packages),
      cmocka_unit_test(decoding_gives_the_text_back),
      cmocka_unit_test(any_bytes_come_back),
      cmocka_unit_test(invalid_bytes_stand_alone),
      cmocka_unit_test(what_a_tokenizer_says_of_itself),
      cmocka_unit_test(the_trainer_learns_the_packages_merges),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
