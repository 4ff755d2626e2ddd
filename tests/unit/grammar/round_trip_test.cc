// parse(print(s)) == s and print(parse(print(s))) == print(s), for random statements; and the printer's
// spelling.
#include <cstdio>
#include <string>

#include "grammar/parse.h"
#include "tests/support/test.h"
#include "tests/unit/grammar/random_statement.h"

namespace traind::grammar {
namespace {

void RandomStatementsRoundTrip(void**) {
  testing::Random random(20261203);
  for (int i = 0; i < 20000; ++i) {
    const Statement statement = testing::RandomStatement(random);
    const std::string text = Print(statement);
    const Result<ParsedStatement> again = ParseOne(text);
    if (!again.ok() || *again->statement != statement || Print(*again->statement) != text) {
      std::fprintf(stderr, "case %d: %s\n", i, text.c_str());
      assert_ok(again);
      assert_text(Print(*again->statement), text);
      fail_msg("another tree");
    }
    assert_text(again->kind, KindOf(statement));
    assert_int_equal(again->begin, 0);
    assert_int_equal(again->end, text.size());
  }
}

std::string Canonical(std::string_view text) {
  const auto parsed = ParseOne(text);
  assert_ok(parsed);
  return Print(*parsed->statement);
}

void CanonicalSpelling(void**) {
  assert_text(Canonical("train model tiny for 100 steps from lic  wait"),
              "TRAIN MODEL tiny FROM lic FOR 100 STEPS WAIT");
  assert_text(Canonical("create model \"tiny\" like \"my model\""), "CREATE MODEL tiny LIKE \"my model\"");
  assert_text(Canonical("create model m like 'gpt2-124m' with (vocab_size=256)"),
              "CREATE MODEL m LIKE 'gpt2-124m' WITH (vocab_size=256)");
  assert_text(Canonical("describe model \"from\""), "DESCRIBE MODEL \"from\"");
  assert_text(Canonical("describe model wait"), "DESCRIBE MODEL wait");
  assert_text(Canonical("train model m from \"scratch\" as j"), "TRAIN MODEL m AS j FROM \"scratch\"");
  assert_text(Canonical("show jobs limit 3 where a  =  24GiB"), "SHOW JOBS WHERE a = 24GiB LIMIT 3");
  assert_text(Canonical("alter job 1 set budget (DEADLINE 'x', wall_clock<=4h) else warn"),
              "ALTER JOB 1 SET BUDGET (DEADLINE 'x', wall_clock <= 4h) ELSE WARN");
  assert_text(Canonical("train model ? from 'a' as ? for ? steps"),
              "TRAIN MODEL ? AS ? FROM 'a' FOR ? STEPS");
  assert_text(Canonical("train model ? from 'a' for ? steps as ?"),
              "TRAIN MODEL ? AS ?3 FROM 'a' FOR ?2 STEPS");
  assert_text(Canonical("help create   model"), "HELP CREATE MODEL");
  assert_text(Canonical("set a = -1.50"), "SET a = -1.5");
}

void ValuesAlone(void**) {
  Value value;
  value.text = "it's";
  assert_text(Print(value), "'it''s'");
  value.kind = Value::Kind::kWord;
  assert_text(Print(value), "\"it's\"");
  value.kind = Value::Kind::kQuantity;
  value.quantity = *ParseQuantity("24GiB");
  assert_text(Print(value), "24GiB");
}

}  // namespace
}  // namespace traind::grammar

int main() {
  using namespace traind::grammar;
  const CMUnitTest tests[] = {
      cmocka_unit_test(RandomStatementsRoundTrip),
      cmocka_unit_test(CanonicalSpelling),
      cmocka_unit_test(ValuesAlone),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
