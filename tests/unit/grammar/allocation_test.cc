// Memory that runs out in the lexer or the parser: nothing leaks, whichever allocation fails.
#include <fstream>
#include <iterator>
#include <string>

#include "grammar/parse.h"
#include "tests/support/failing_new.h"
#include "tests/support/test.h"

namespace traind::grammar {
namespace {

void AssertNoLeak(const std::string& text) {
  int64_t count = 0;
  const int64_t leak = testing::FirstLeakingFailure(
      [&] {
        const ParsedScript script = Parse(text);
        for (const ParsedStatement& parsed : script.statements) {
          if (parsed.statement) (void)Print(*parsed.statement).size();
        }
      },
      &count);
  if (leak != 0) fail_msg("the failure of allocation %d leaks in: %s", static_cast<int>(leak), text.c_str());
  assert_true(count > 0);
}

// The statements that every part of the grammar has: those of ok.tql, and those that are wrong, of bad.tql.
void statements_of_the_files(void**) {
  for (const char* name : {"tests/data/statements/ok.tql", "tests/data/statements/bad.tql"}) {
    std::ifstream file(name);
    const std::string script{std::istreambuf_iterator<char>(file), {}};
    int statements = 0;
    for (const ParsedStatement& parsed : Parse(script).statements) {
      AssertNoLeak(
          script.substr(static_cast<size_t>(parsed.begin), static_cast<size_t>(parsed.end - parsed.begin)));
      ++statements;
    }
    assert_true(statements > 5);
  }
}

void unfinished_and_broken_texts(void**) {
  for (const char* text :
       {"SELECT (((a, 'b', $c, 4GiB", "TRAIN MODEL m FROM 'open", "SHOW JOBS; SHOW; x y; /* open",
        "CREATE MODEL m ARCHITECTURE llama WITH (a=1, b='two', c=(", "\xff", "1e9999"}) {
    AssertNoLeak(text);
  }
}

void continuations(void**) {
  assert_int_equal(testing::FirstLeakingFailure(
                       [] { (void)ExpectedAfter("TRAIN MODEL m FROM d USING (a=1) FOR 5").size(); }, nullptr),
                   0);
}

}  // namespace
}  // namespace traind::grammar

int main() {
  using namespace traind::grammar;
  const CMUnitTest tests[] = {
      cmocka_unit_test(statements_of_the_files),
      cmocka_unit_test(unfinished_and_broken_texts),
      cmocka_unit_test(continuations),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
