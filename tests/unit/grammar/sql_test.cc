// Pieces of SQL: where they end, what SQLite gets, and how its positions lead back.
#include <string>

#include "grammar/parse.h"
#include "tests/support/test.h"

namespace traind::grammar {
namespace {

Sql QueryOf(std::string_view text) {
  const auto parsed = ParseOne(text);
  assert_ok(parsed);
  return std::get<Select>(*parsed->statement).query;
}

Show ShowOf(std::string_view text) {
  const auto parsed = ParseOne(text);
  assert_ok(parsed);
  return std::get<Show>(*parsed->statement);
}

ErrorCode CodeOf(std::string_view text) {
  return ParseOne(text).status().code();
}

void TextIsKeptAsWritten(void**) {
  for (const char* text : {
           "SELECT 'a,b', 'c\"d'",
           "SELECT * FROM sys_jobs AS j WHERE j.id = 1 AND \"x y\" <> 'it''s' OR a || b -> '$.c' ->> 0",
           "select a-1, -1.5e3, - -2, f(x), count(*), t.*, x'0AFF', 0x1F, 10 % 3, 10%3 from t",
           "SELECT [order] FROM t WHERE a IN (1,2) AND b BETWEEN 1 AND 2 AND NOT c == d",
           "WITH x AS (SELECT 1 AS a), y(b) AS (VALUES (2)) SELECT * FROM x, y",
           "SELECT CASE WHEN a THEN 'b' ELSE 'c' END, sum(x) FILTER (WHERE x > 0) OVER (ORDER BY y LIMIT 1)",
           "SELECT 1",
       }) {
    assert_text(QueryOf(text).text, text);
    assert_text(QueryOf(text).sql, text);
  }
  assert_text(QueryOf("SELECT  1 /* x */ ,\n\t2 -- y\n + 3").text, "SELECT 1 , 2 + 3");
}

void QuantitiesBecomePlainNumbers(void**) {
  assert_text(QueryOf("SELECT 24GiB, 1d12h, 512Ki, 20B, 10%, 2us, 0.5h, 600GB/s, 25USD, 1.5K").sql,
              "SELECT 25769803776, 129600, 524288, 20000000000, 0.1, 2e-06, 1800, 600000000000, 25, 1500");
  assert_text(QueryOf("SELECT 007, 1e5, .5, 0.10").sql, "SELECT 007, 1e5, .5, 0.10");
  assert_text(QueryOf("SELECT free_bytes-24GiB").sql, "SELECT free_bytes-25769803776");
  assert_text(QueryOf("SELECT 24GiB").text, "SELECT 24GiB");
  assert_true(CodeOf("SELECT 24gib") == ErrorCode::INVALID_NUMBER);
}

void ParametersAreNamed(void**) {
  const Sql sql = QueryOf("SELECT $a, ?, $a(1), ?7 FROM t WHERE x = ?");
  assert_text(sql.sql, "SELECT $a, ?1, $a (1), ?7 FROM t WHERE x = ?8");
  assert_text(sql.text, "SELECT $a, ?1, $a(1), ?7 FROM t WHERE x = ?8");
  assert_int_equal(sql.parameters.size(), 5);
  assert_text(sql.parameters[4].name, "8");
  assert_true(sql.parameters[4].positional);
  assert_true(CodeOf("SELECT :a") == ErrorCode::SYNTAX);
  assert_true(CodeOf("SELECT @a") == ErrorCode::SYNTAX);
}

void PositionsLeadBack(void**) {
  const std::string script = " SELECT  24GiB,'é' , a+b -- c\n  , nonsense, 'x'";
  const Sql sql = QueryOf(script);
  assert_text(sql.sql, "SELECT 25769803776,'é' , a+b , nonsense, 'x'");
  const auto expect = [&](std::string_view token, std::string_view written, int line, int column) {
    const SourcePosition position = PositionIn(sql, static_cast<int64_t>(sql.sql.find(token)));
    assert_int_equal(position.offset, script.find(written));
    assert_int_equal(position.line, line);
    assert_int_equal(position.column, column);
  };
  expect("SELECT", "SELECT", 1, 2);
  expect("257", "24GiB", 1, 10);
  expect("'é'", "'é'", 1, 16);
  expect("a+b", "a+b", 1, 22);
  expect("+b", "+b", 1, 23);
  expect("nonsense", "nonsense", 2, 5);
  expect("sense", "sense", 2, 8);
  expect("'x'", "'x'", 2, 15);
  assert_int_equal(QueryOf("SELECT a, b, c FROM d WHERE e").segments.size(), 1);
}

void ConditionsEndAtTheNextClause(void**) {
  const Show show = ShowOf(
      "SHOW EVENTS WHERE kind IN (SELECT x FROM y ORDER BY z LIMIT 1) ORDER BY time DESC, id LIMIT 5 FOLLOW");
  assert_text(show.where->text, "kind IN (SELECT x FROM y ORDER BY z LIMIT 1)");
  assert_text(show.order_by->text, "time DESC, id");
  assert_int_equal(show.limit->quantity.integer, 5);
  assert_true(show.follow);
  assert_text(ShowOf("SHOW METRICS WHERE loss < 2 FOR JOB 3").where->text, "loss < 2");
  assert_text(ShowOf("SHOW GPUS WHERE free_bytes >= 24GiB").where->sql, "free_bytes >= 25769803776");
  assert_true(CodeOf("SHOW JOBS WHERE LIMIT 5") == ErrorCode::SYNTAX);
  assert_true(CodeOf("SHOW JOBS ORDER BY") == ErrorCode::SYNTAX);
}

void AssertionsEndAtTheirMessage(void**) {
  const auto parsed = ParseOne("ASSERT (SELECT count(*) FROM t WHERE a IN (1, 2)) = f(3, 4), 'it, failed'");
  assert_ok(parsed);
  const auto& assertion = std::get<Assert>(*parsed->statement);
  assert_text(assertion.condition.text, "(SELECT count(*) FROM t WHERE a IN (1, 2)) = f(3, 4)");
  assert_text(assertion.message->text, "it, failed");
}

void ParenthesesMatch(void**) {
  assert_true(CodeOf("SELECT 1)") == ErrorCode::SYNTAX);
  const Status error = ParseOne("SELECT (1 + (2)").status();
  assert_code(error, ErrorCode::SYNTAX);
  assert_text(error.message(), "the parenthesis opened at 1:8 is not closed");
  assert_int_equal(error.position().column, 16);
  assert_true(CodeOf("SHOW JOBS WHERE a) LIMIT 1") == ErrorCode::SYNTAX);
  assert_true(CodeOf("SHOW JOBS WHERE (a LIMIT 1") == ErrorCode::SYNTAX);
}

}  // namespace
}  // namespace traind::grammar

int main() {
  using namespace traind::grammar;
  const CMUnitTest tests[] = {
      cmocka_unit_test(TextIsKeptAsWritten),
      cmocka_unit_test(QuantitiesBecomePlainNumbers),
      cmocka_unit_test(ParametersAreNamed),
      cmocka_unit_test(PositionsLeadBack),
      cmocka_unit_test(ConditionsEndAtTheNextClause),
      cmocka_unit_test(AssertionsEndAtTheirMessage),
      cmocka_unit_test(ParenthesesMatch),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
