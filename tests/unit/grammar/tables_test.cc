// The tables against each other: keywords and grammar, statements and parser, clauses and tokens.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "grammar/builder.h"
#include "grammar/lalr.h"
#include "grammar/parse.h"
#include "grammar/token.h"
#include "tests/support/test.h"

namespace traind::grammar {
namespace {

void KeywordUsesFitTheGrammar(void**) {
  int keywords = 0;
  for (int code = 1; code < kTokenCodes; ++code) {
    const Keyword* keyword = KeywordOf(code);
    if (keyword == nullptr) continue;
    ++keywords;
    assert_ptr_equal(FindKeyword(keyword->word), keyword);
    if (keyword->use == KeywordUse::kReserved) continue;
    if (KeywordHidesName(code) != (keyword->use == KeywordUse::kContext)) {
      fail_msg("%s has the wrong use in keywords.def", std::string(keyword->word).c_str());
    }
  }
  assert_true(keywords > 60);
}

// A bare keyword that is FREE is a name in each place for one.
void FreeKeywordsAreNames(void**) {
  for (int code = 1; code < kTokenCodes; ++code) {
    const Keyword* keyword = KeywordOf(code);
    if (keyword == nullptr) continue;
    const std::string word(keyword->word);
    for (const std::string before :
         {"DESCRIBE MODEL ", "SHOW JOB ", "SET a = ", "TRAIN MODEL x FROM ", "CREATE MODEL ", "DROP DATASET ",
          "TRAIN MODEL x FROM d AS ", "RESET ", "SHOW VERSIONS OF ", "TRAIN MODEL x FROM d WITH BUDGET ("}) {
      const std::string after = before.ends_with("(") ? " <= 1)" : before == "CREATE MODEL " ? " LIKE x" : "";
      const bool parses = ParseOne(before + word + after).ok();
      if (keyword->use == KeywordUse::kFree) assert_true(parses);
      if (keyword->use == KeywordUse::kReserved) assert_false(parses);
      assert_ok(ParseOne(before + "\"" + word + "\"" + after));
    }
    assert_ok(ParseOne("HELP " + word));
  }
}

void EveryStatementIsInTheTable(void**) {
  std::set<std::string_view> kinds;
  for (const StatementInfo& row : AllStatements()) {
    if (!kinds.insert(row.kind).second) fail_msg("%s twice", std::string(row.kind).c_str());
    assert_false(row.synopsis.empty());
    assert_false(row.summary.empty());
    assert_false(row.text.empty());
    assert_true(row.summary.find('\n') == std::string_view::npos);
  }
  // Every kind a statement can have: one example of each in the table's own examples.
  assert_int_equal(kinds.size(), 47);
  std::set<std::string> shown;
  for (const StatementInfo& row : AllStatements()) {
    const ParsedScript script = Parse(row.example);
    for (const Status& error : script.errors) {
      fail_msg("%s: %s", std::string(row.kind).c_str(), error.ToString().c_str());
    }
    bool own_kind = false;
    for (const ParsedStatement& parsed : script.statements) {
      own_kind = own_kind || parsed.kind == row.kind;
      shown.insert(parsed.kind);
    }
    if (!own_kind) fail_msg("%s has no example of itself", std::string(row.kind).c_str());
  }
  for (const std::string& kind : shown) assert_true(kinds.contains(kind));
}

void ExamplesRoundTrip(void**) {
  for (const StatementInfo& row : AllStatements()) {
    for (const ParsedStatement& parsed : Parse(row.example).statements) {
      const std::string text = Print(*parsed.statement);
      const auto again = ParseOne(text);
      assert_ok(again);
      assert_true(*again->statement == *parsed.statement);
    }
  }
}

void ClausesHaveNamesAndTokens(void**) {
  for (int i = 0; i < static_cast<int>(Clause::kCount); ++i) {
    const ClauseInfo& info = InfoOf(static_cast<Clause>(i));
    assert_false(info.name.empty());
    assert_true(info.name.starts_with(DisplayOf(info.first)));
  }
}

}  // namespace
}  // namespace traind::grammar

int main() {
  using namespace traind::grammar;
  const CMUnitTest tests[] = {
      cmocka_unit_test(KeywordUsesFitTheGrammar),   cmocka_unit_test(FreeKeywordsAreNames),
      cmocka_unit_test(EveryStatementIsInTheTable), cmocka_unit_test(ExamplesRoundTrip),
      cmocka_unit_test(ClausesHaveNamesAndTokens),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
