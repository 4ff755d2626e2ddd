// Ids of SentencePiece models against those of its own Python package
// (tests/data/tokenizers/make_sentencepiece.py).
#include "engine/data/tokenizers/sentencepiece.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/json.h"

#include "tests/support/test.h"

namespace traind::data {
namespace {

std::string Read(const std::string& name) {
  const char* source = std::getenv("TRAIND_SOURCE");
  assert_non_null(source);
  const auto text = ReadWholeFile(PosixIo(), std::string(source) + "/tests/data/tokenizers/" + name, 1 << 28);
  assert_ok(text);
  return *text;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

void ids_are_the_librarys_own(void**) {
  const auto cases = ParseJson(Read("sentencepiece.json"));
  assert_ok(cases);
  for (const std::string kind : {"bpe", "unigram"}) {
    const auto tokenizer = MakeSentencePiece(Read("sentencepiece_" + kind + ".model"));
    assert_ok(tokenizer);
    const auto encoder = (*tokenizer)->NewEncoder();
    for (size_t i = 0; i < (*cases)["texts"].size(); ++i) {
      const std::string text = FromHex((*cases)["texts"][i].get<std::string>());
      std::vector<TokenId> ids;
      assert_ok(encoder->Append(text.substr(0, text.size() / 2), &ids));
      assert_ok(encoder->Append(text.substr(text.size() / 2), &ids));
      assert_ok(encoder->Finish(&ids));
      if (ids != (*cases)["ids"][kind][i].get<std::vector<TokenId>>()) {
        std::fprintf(stderr, "%s, text %zu: %s\n", kind.c_str(), i, text.c_str());
        fail();
      }
      if (kind == "bpe") assert_true((*tokenizer)->Decode(ids) == text);
    }
  }
}

void what_it_says_of_itself(void**) {
  const auto tokenizer = MakeSentencePiece(Read("sentencepiece_bpe.model"));
  assert_ok(tokenizer);
  assert_int_equal((*tokenizer)->vocab_size(), 600);
  assert_int_equal((*tokenizer)->end_of_text(), 2);
  assert_text((*tokenizer)->BytesOf(2), "</s>");
  assert_true((*tokenizer)->IsSpecial(2));
  assert_false((*tokenizer)->IsSpecial(300));
  assert_int_equal((*tokenizer)->prefix().size(), 1);
  assert_true((*tokenizer)->BytesOf(600).empty());
  assert_true((*tokenizer)->BytesOf(-1).empty());
}

void what_is_no_model_is_refused(void**) {
  const std::string good = Read("sentencepiece_bpe.model");
  assert_code(MakeSentencePiece(""), ErrorCode::DAMAGED_TOKENIZER);
  assert_code(MakeSentencePiece("no protobuf"), ErrorCode::DAMAGED_TOKENIZER);
  assert_code(MakeSentencePiece(good.substr(0, good.size() / 2)), ErrorCode::DAMAGED_TOKENIZER);
  assert_code(MakeSentencePiece(std::string(1000, '\xff')), ErrorCode::DAMAGED_TOKENIZER);
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_the_librarys_own),
      cmocka_unit_test(what_it_says_of_itself),
      cmocka_unit_test(what_is_no_model_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
