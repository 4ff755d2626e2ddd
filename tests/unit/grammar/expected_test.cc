// Expected lists, to the item, and hints.
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "grammar/lexer.h"
#include "grammar/parse.h"
#include "grammar/token.h"
#include "tests/support/test.h"

namespace traind::grammar {
namespace {

std::string Join(const std::vector<std::string>& items) {
  std::string all;
  for (const std::string& item : items) all += (all.empty() ? "" : " | ") + item;
  return all;
}

// Completion, and the list of an error there (']' is never accepted), must agree.
void AssertExpected(std::string_view text, std::string_view expected) {
  assert_text(Join(ExpectedAfter(text)), expected);
  const ParsedScript script = Parse(std::string(text) + " ]");
  if (script.errors.empty()) return;  // SQL takes it
  const Status& error = script.errors.back();
  if (error.message() == "unexpected ']'") assert_text(Join(error.expected()), expected);
}

std::string HintOf(std::string_view text) {
  return ParseOne(text).status().hint();
}

// A text that is one token of the kind that `item` of an expected list names.
std::string TokenFor(const std::string& item) {
  static const std::map<std::string, std::string> placeholders = {
      {"a name", "zz"}, {"a number", "1"}, {"a parameter", "$z"},    {"a string", "'z'"},
      {"a word", "zz"}, {"-", "-"},        {"an expression", "(1)"},
  };
  const auto row = placeholders.find(item);
  return row != placeholders.end() ? row->second : item;
}

// Whether the parser takes `token` behind `prefix`: if it has an error, that stands further on.
bool Takes(const std::string& prefix, const std::string& token) {
  const std::string text = prefix + " " + token;
  const ParsedScript script = Parse(text + " ");
  return script.errors.empty() ||
         script.errors.back().position().offset > static_cast<int64_t>(prefix.size()) + 1;
}

// First words of two-word clauses: the parser takes one, and sees at the second that the clause is repeated.
const std::set<std::string> kBeginnings = {"CHECKPOINT", "FOR", "FROM", "ORDER", "RESUME", "WITH"};

// Every item is taken; and what is not listed is taken only as a name, a word, or SQL.
void AssertExact(const std::string& prefix) {
  const std::vector<std::string> expected = ExpectedAfter(prefix);
  const std::set<std::string> items(expected.begin(), expected.end());
  const bool in_beginning = kBeginnings.contains(prefix.substr(prefix.rfind(' ') + 1));
  for (const std::string& item : expected) {
    if (in_beginning)
      break;  // which of the clauses with this first word have been given is not looked at there
    if (!Takes(prefix, TokenFor(item))) fail_msg("'%s' does not take %s", prefix.c_str(), item.c_str());
  }
  const bool takes_words =
      items.contains("a name") || items.contains("a word") || items.contains("an expression");
  std::vector<std::string> others = {"a name", "a number", "a parameter", "a string", "(", ")", ",",
                                     "=",      "<",        "<=",          "@",        ":", "-", ";"};
  for (int code = 1; code < kTokenCodes; ++code) {
    if (const Keyword* keyword = KeywordOf(code)) others.emplace_back(keyword->word);
  }
  for (const std::string& other : others) {
    const bool word = FindKeyword(other) != nullptr || other == "a name" ||
                      (other == "a number" && items.contains("a word"));  // HELP 100
    if (items.contains(other) || (word && takes_words)) continue;
    if (kBeginnings.contains(other)) continue;
    if (Takes(prefix, TokenFor(other))) fail_msg("'%s' takes %s", prefix.c_str(), other.c_str());
  }
}

// At every border between tokens of every statement of ok.tql and of the manual's examples that holds no SQL
// (which takes anything).
void ListsAreExact(void**) {
  std::ifstream file("tests/data/statements/ok.tql");
  std::string script{std::istreambuf_iterator<char>(file), {}};
  for (const StatementInfo& row : AllStatements()) script += std::string(row.example) + ";";
  int prefixes = 0;
  for (const ParsedStatement& parsed : Parse(script).statements) {
    if (!parsed.statement || parsed.kind == "SELECT" || parsed.kind == "ASSERT") continue;
    const std::string text = Print(*parsed.statement);
    if (text.find(" WHERE ") != std::string::npos) continue;
    Lexer lexer(text, {0, 1, 1});
    for (Token token = lexer.Next(Lexer::Mode::kLanguage); token.code != TK_END;
         token = lexer.Next(Lexer::Mode::kLanguage)) {
      AssertExact(text.substr(0, static_cast<size_t>(token.position.offset) + token.text.size()));
      ++prefixes;
    }
  }
  assert_true(prefixes > 500);
}

constexpr std::string_view kStatements =
    "ALTER | ASSERT | CANCEL | CHECKPOINT | CREATE | DESCRIBE | DROP | EVALUATE | EXPLAIN | EXPORT | "
    "GENERATE | HELP | IMPORT | INCLUDE | "
    "LET | PAUSE | RESET | RESUME | RETRY | SELECT | SET | SHOW | TRAIN | WAIT | WITH";

void AfterEachWord(void**) {
  AssertExpected("", kStatements);
  AssertExpected("SHOW JOBS; ", kStatements);
  AssertExpected("CREATE", "DATASET | MODEL | OR | TOKENIZER");
  AssertExpected("CREATE OR", "REPLACE");
  AssertExpected("CREATE MODEL", "IF | a name | a parameter");
  AssertExpected("CREATE MODEL m", "ARCHITECTURE | LIKE | WITH");
  AssertExpected("CREATE MODEL m LIKE x", "WITH | ;");
  AssertExpected("CREATE MODEL m ARCHITECTURE llama", "WITH | ;");
  AssertExpected("CREATE MODEL m ARCHITECTURE llama WITH (a", ") | , | =");
  AssertExpected("CREATE MODEL m ARCHITECTURE llama WITH (a =",
                 "a name | a number | a parameter | a string | -");
  AssertExpected("CREATE DATASET d", "FORMAT | FROM | WITH");
  AssertExpected("CREATE DATASET d FROM 'x'", "FORMAT | WITH | ,");
  AssertExpected("CREATE DATASET d FROM 'x' FORMAT text", "WITH | ;");
  AssertExpected("DROP", "DATASET | MODEL | TOKENIZER");
  AssertExpected("CREATE TOKENIZER t", "FROM | WITH");
  AssertExpected("CREATE TOKENIZER t FROM 'f'", "WITH | ;");
  AssertExpected("TRAIN OR REPLACE", "TOKENIZER");
  AssertExpected("TRAIN TOKENIZER t", "FROM | USING");
  AssertExpected("TRAIN TOKENIZER t FROM d", "USING | WEIGHT | , | ;");
  AssertExpected("DROP MODEL m", "WITH | ;");
  AssertExpected("TRAIN", "IF | MODEL | OR | TOKENIZER");
  AssertExpected("TRAIN IF NOT EXISTS", "MODEL | TOKENIZER");
  AssertExpected("TRAIN MODEL m",
                 "AS | CHECKPOINT | DETACH | FOR | FROM | INTO | LABELS | ON | RESUME | RETRY | UNTIL | "
                 "USING | VALIDATE | "
                 "WAIT | WITH | @");
  AssertExpected("TRAIN MODEL m FROM d FOR", "a number | a parameter");
  AssertExpected("TRAIN MODEL m FROM d FOR 3", "EPOCHS | STEPS | TOKENS");
  AssertExpected("TRAIN MODEL m FROM d ON", "ALL | GPU");
  AssertExpected("TRAIN MODEL m FROM d WITH", "BUDGET");
  AssertExpected("TRAIN MODEL m FROM d WITH BUDGET", "a number | a parameter | (");
  AssertExpected("TRAIN MODEL m FROM d WITH BUDGET (", "DEADLINE | a name");
  AssertExpected("TRAIN MODEL m FROM d WITH BUDGET (a", "<=");
  AssertExpected("TRAIN MODEL m FROM d WITH BUDGET 4h ELSE", "CHECKPOINT | FAIL | PAUSE | WARN");
  AssertExpected("TRAIN MODEL m FROM d RESUME FROM", "CHECKPOINT | LATEST");
  AssertExpected(
      "SHOW",
      "CHECKPOINTS | CREATE | DATASETS | EVENTS | GPUS | JOB | JOBS | LOGS | METRICS | MODELS | SETTINGS | "
      "TOKENIZERS | VERSION | VERSIONS");
  AssertExpected("SHOW VERSIONS", "LIMIT | OF | ORDER | WHERE | ;");
  AssertExpected("SHOW JOBS WHERE", "an expression");
  AssertExpected("SHOW JOBS WHERE a = 1", "LIMIT | ORDER | ;");
  AssertExpected("EXPLAIN", "JOB | TRAIN | (");
  AssertExpected("PAUSE JOB", "a name | a number | a parameter | a string");
  AssertExpected("WAIT FOR JOB 1", "TIMEOUT | , | ;");
  AssertExpected("HELP", "a word | ;");
  AssertExpected("RESET", "a name | ;");
  AssertExpected("SELECT", "an expression");
  AssertExpected("SELECT (1", ")");
  AssertExpected("ASSERT 1", ", | ;");
}

void GivenClausesAreNotOffered(void**) {
  AssertExpected("SHOW EVENTS FOLLOW", "FOR | LIMIT | ORDER | WHERE | ;");
  AssertExpected("SHOW EVENTS FOLLOW LIMIT 5", "FOR | ORDER | WHERE | ;");
  AssertExpected("EVALUATE MODEL m USING (a)", "FROM");
  AssertExpected("EVALUATE MODEL m USING (a) FROM d", ";");
  // One word, two clauses: as long as one of them is left.
  AssertExpected(
      "TRAIN MODEL m FROM d FOR 1 STEPS AS j INTO n USING (a) ON ALL GPUS LABELS (a) WAIT WITH BUDGET 1h",
      "CHECKPOINT | ELSE | FROM | RESUME | RETRY | UNTIL | VALIDATE | ;");
  AssertExpected("TRAIN MODEL m FROM d FROM SCRATCH RETRY 3 TIMES DETACH",
                 "AS | CHECKPOINT | FOR | INTO | LABELS | ON | RESUME | UNTIL | USING | VALIDATE | WITH | ;");
}

void NothingBehindAnError(void**) {
  AssertExpected("SHOW JOBZ", "");
  AssertExpected("SHOW JOBZ FOR", "");
  AssertExpected("INCLUDE 'x", "");
  AssertExpected("/* x", "");
}

void ErrorsCarryTheList(void**) {
  const Status error = ParseOne("TRAIN MODEL m FROM d FOR 3 STEP").status();
  assert_text(Join(error.expected()), "EPOCHS | STEPS | TOKENS");
  assert_text(error.message(), "unexpected 'STEP'");
  assert_text(error.hint(), "Did you mean STEPS?");
  const Status end = ParseOne("TRAIN MODEL m FROM d FOR 3").status();
  assert_text(Join(end.expected()), "EPOCHS | STEPS | TOKENS");
  assert_text(end.message(), "the statement is not complete");
}

void Hints(void**) {
  assert_text(HintOf("TRAIN MODEL m FORM d"), "Did you mean FROM?");
  assert_text(HintOf("TRIAN MODEL m"), "Did you mean TRAIN?");
  assert_text(HintOf("SHOW JBOS"), "Did you mean JOBS?");
  assert_text(HintOf("SHOW DATASET"), "Did you mean DATASETS?");
  assert_text(HintOf("TRAIN MODLE m"), "Did you mean MODEL?");
  assert_text(HintOf("FROBNICATE"), "HELP lists the statements.");
  assert_text(HintOf("TRAIN MODEL m AS FROM d"), "A name is missing, or is to be quoted: \"FROM\".");
  assert_text(HintOf("INCLUDE common"), "Strings stand in single quotes: 'common'.");
  assert_text(HintOf("INCLUDE \"common\""), "Strings stand in single quotes.");
  assert_text(HintOf("DESCRIBE MODEL 'm'"), "Names stand bare or in double quotes.");
  assert_text(HintOf("TRAIN MODEL m FROM d WITH BUDGET (wall_clock < 4h)"), "Write <= here.");
  assert_text(HintOf("SET a : 1"), "Write = here.");
  assert_text(HintOf("TRAIN MODEL m FROM d UNTIL loss <= 3"), "Write < here.");
  assert_text(HintOf("TRAIN MODEL m FROM d xyzzy"), "");
}

void MessagesAreShort(void**) {
  const std::string word(100000, 'x');
  const Status error = ParseOne("SHOW \"" + word.substr(0, 60) + "\"").status();
  assert_true(error.message().size() < 80);
  assert_true(ParseOne("SHOW '" + word + "'").status().message().size() < 80);
  assert_true(ParseOne("SHOW " + word).status().message().size() < 120);
}

}  // namespace
}  // namespace traind::grammar

int main() {
  using namespace traind::grammar;
  const CMUnitTest tests[] = {
      cmocka_unit_test(AfterEachWord),
      cmocka_unit_test(ListsAreExact),
      cmocka_unit_test(GivenClausesAreNotOffered),
      cmocka_unit_test(NothingBehindAnError),
      cmocka_unit_test(ErrorsCarryTheList),
      cmocka_unit_test(Hints),
      cmocka_unit_test(MessagesAreShort),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
