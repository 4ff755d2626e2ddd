// The byte tokenizer, and what all tokenizers share.
#include "engine/data/tokenizer.h"

#include "tests/support/test.h"

namespace traind::data {
namespace {

void a_byte_is_a_token(void**) {
  const auto tokenizer = OpenTokenizer(PosixIo(), "bytes");
  assert_true(tokenizer.ok());
  std::vector<TokenId> ids;
  assert_true((*tokenizer)->Encode(std::string_view("a\xff\0", 3), &ids).ok());
  assert_true(ids == (std::vector<TokenId>{97, 255, 0}));
  assert_int_equal((*tokenizer)->vocab_size(), 256);
  assert_int_equal((*tokenizer)->end_of_text(), 0);
  assert_true((*tokenizer)->nul_is_end_of_text());
  assert_true((*tokenizer)->Decode(ids) == std::string_view("a\xff\0", 3));
  assert_true((*tokenizer)->BytesOf(256).empty());
  assert_true((*tokenizer)->BytesOf(-1).empty());
}

void text_ends_at_a_whole_character(void**) {
  assert_int_equal(CompleteUtf8(""), 0);
  assert_int_equal(CompleteUtf8("ab"), 2);
  assert_int_equal(CompleteUtf8("a\xc3"), 1);
  assert_int_equal(CompleteUtf8("a\xc3\xa9"), 3);
  assert_int_equal(CompleteUtf8("\xe2\x82"), 0);
  assert_int_equal(CompleteUtf8("\xe2\x82\xac"), 3);
  assert_int_equal(CompleteUtf8("x\xf0\x9f\x98"), 1);
  assert_int_equal(CompleteUtf8("x\xf0\x9f\x98\x80"), 5);
  // What can become no character is shown as it is.
  assert_int_equal(CompleteUtf8("x\x80\x80\x80\x80"), 5);
  assert_int_equal(CompleteUtf8("x\xff"), 2);
  assert_int_equal(CompleteUtf8("x\xc0"), 2);
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_byte_is_a_token),
      cmocka_unit_test(text_ends_at_a_whole_character),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
