// The reader: what scripts become, where their parts stand, and which errors they give.
#include "grammar/parse.h"

#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "tests/support/test.h"

namespace traind::grammar {
namespace {

Status ErrorOf(std::string_view text) {
  return ParseOne(text).status();
}

// "NAME line:column" of the first error.
std::string FaultOf(std::string_view text) {
  const Status error = ErrorOf(text);
  if (error.ok()) return "OK";
  return std::string(error.info().name) + " " + std::to_string(error.position().line) + ":" +
         std::to_string(error.position().column);
}

template <typename S>
S ParseAs(std::string_view text) {
  Result<ParsedStatement> parsed = ParseOne(text);
  assert_ok(parsed);
  assert_true(std::holds_alternative<S>(*parsed->statement));
  return std::get<S>(*parsed->statement);
}

void TrainInFull(void**) {
  const auto train = ParseAs<Train>(
      "TRAIN IF NOT EXISTS MODEL m@3 AS \"a job\" INTO m2 FROM SCRATCH FROM d, 'x*.txt', $more\n"
      "VALIDATE FROM held EVERY 20 STEPS USING (learning_rate=3e-3, fast) FOR 1M TOKENS UNTIL val_loss < "
      "1.5\n"
      "ON GPU local:0, n2:$i WITH BUDGET (wall_clock <= 10m, DEADLINE '2026-12-03 08:00') ELSE PAUSE\n"
      "CHECKPOINT EVERY 30m KEEP 3 LATEST RESUME FROM CHECKPOINT 'c' RETRY 3 TIMES LABELS (team='nlp', "
      "night)\n"
      "WAIT TIMEOUT 9h");
  assert_true(train.if_not_exists);
  assert_int_equal(train.if_position.column, 7);
  assert_text(train.model.name.text, "m");
  assert_int_equal(train.model.version->quantity.integer, 3);
  assert_text(train.job_name->text, "a job");
  assert_text(train.into->text, "m2");
  assert_true(train.from_scratch);
  assert_int_equal(train.sources.size(), 3);
  assert_true(train.sources[0].value.kind == Value::Kind::kWord);
  assert_true(train.sources[1].value.kind == Value::Kind::kString);
  assert_true(train.sources[2].value.kind == Value::Kind::kParameter);
  assert_text(train.validate->sources[0].value.text, "held");
  assert_int_equal(train.validate->every_steps->quantity.integer, 20);
  assert_int_equal(train.using_options.size(), 2);
  assert_int_equal(train.using_position.line, 2);
  assert_int_equal(train.using_position.column, 35);
  assert_false(train.using_options[1].value.has_value());
  assert_int_equal(train.target->amount.quantity.integer, 1000000);
  assert_true(train.target->unit == TargetClause::Unit::kTokens);
  assert_int_equal(train.target->position.column, 68);
  assert_text(train.until->metric.text, "val_loss");
  assert_true(train.until->below.quantity.value == 1.5);
  assert_int_equal(train.on->devices.size(), 2);
  assert_text(train.on->devices[1].node.text, "n2");
  assert_text(train.on->devices[1].index.parameter.name, "i");
  assert_int_equal(train.budget->terms.size(), 2);
  assert_text(train.budget->terms[1].term->text, kDeadlineTerm);
  assert_text(train.budget->terms[1].limit.text, "2026-12-03 08:00");
  assert_true(train.budget->action == BudgetClause::Action::kPause);
  assert_true(train.checkpoint->every.quantity.value == 1800);
  assert_false(train.checkpoint->in_steps);
  assert_int_equal(train.checkpoint->keep->quantity.integer, 3);
  assert_text(train.resume->checkpoint->text, "c");
  assert_int_equal(train.retry->quantity.integer, 3);
  assert_int_equal(train.labels.size(), 2);
  assert_true(train.wait->timeout->quantity.value == 9 * 3600);
  assert_false(train.detach);
}

void ClausesInAnyOrder(void**) {
  const auto a = ParseOne("TRAIN MODEL m FROM d FOR 1 STEPS AS j WAIT USING (seed=1)");
  const auto b = ParseOne("TRAIN MODEL m WAIT USING (seed=1) AS j FOR 1 STEPS FROM d");
  assert_ok(a);
  assert_ok(b);
  assert_true(*a->statement == *b->statement);
  const auto c = ParseOne("CREATE DATASET d WITH (x=1) FORMAT text FROM 'a', 'b'");
  const auto d = ParseOne("CREATE DATASET d FROM 'a', 'b' FORMAT text WITH (x=1)");
  assert_ok(c);
  assert_true(*c->statement == *d->statement);
  const auto e = ParseOne("SHOW EVENTS FOLLOW LIMIT 5 WHERE kind = 'state' FOR JOB 3");
  const auto f = ParseOne("SHOW EVENTS FOR JOB 3 WHERE kind = 'state' LIMIT 5 FOLLOW");
  assert_ok(e);
  assert_true(*e->statement == *f->statement);
  const auto g = ParseOne("CREATE OR REPLACE MODEL m WITH VERSIONS WITH (a=1) ARCHITECTURE llama");
  const auto h = ParseOne("CREATE OR REPLACE MODEL m ARCHITECTURE llama WITH (a=1) WITH VERSIONS");
  assert_ok(g);
  assert_true(*g->statement == *h->statement);
}

void RepeatedClausesNameTheFirst(void**) {
  const Status error = ErrorOf("TRAIN MODEL m FROM d\n  FOR 1 STEPS WAIT\n  FOR 2 EPOCHS");
  assert_code(error, ErrorCode::DUPLICATE_CLAUSE);
  assert_text(error.message(), "FOR is given twice; the first stands at 2:3");
  assert_int_equal(error.position().line, 3);
  assert_int_equal(error.position().column, 3);
  const std::vector<std::string> repeated = {"FROM d",         "FROM SCRATCH",        "INTO x",
                                             "AS x",           "VALIDATE FROM d",     "USING (a)",
                                             "FOR 1 STEPS",    "UNTIL a < 1",         "ON ALL GPUS",
                                             "WITH BUDGET 4h", "CHECKPOINT EVERY 1m", "RESUME FROM LATEST",
                                             "RETRY 1 TIMES",  "LABELS (a)",          "WAIT",
                                             "DETACH"};
  for (const std::string& clause : repeated) {
    const std::string once = "TRAIN MODEL m " + clause + (clause == "FROM d" ? "" : " FROM d");
    assert_text(FaultOf(once), "OK");
    const std::string fault = "DUPLICATE_CLAUSE 1:" + std::to_string(once.size() + 2);
    assert_text(FaultOf(once + " " + clause), fault);
  }
  assert_text(FaultOf("TRAIN MODEL m FROM d WAIT DETACH"), "DUPLICATE_CLAUSE 1:27");
  assert_text(FaultOf("TRAIN MODEL m FROM d DETACH WAIT"), "DUPLICATE_CLAUSE 1:29");
  assert_text(FaultOf("CREATE MODEL m LIKE a LIKE b"), "DUPLICATE_CLAUSE 1:23");
  assert_text(FaultOf("CREATE MODEL m LIKE a ARCHITECTURE b"), "DUPLICATE_CLAUSE 1:23");
  assert_text(FaultOf("SHOW JOBS LIMIT 1 LIMIT 2"), "DUPLICATE_CLAUSE 1:19");
  assert_text(FaultOf("SHOW JOBS WHERE a WHERE b"), "DUPLICATE_CLAUSE 1:19");
  assert_text(FaultOf("GENERATE FROM MODEL m PROMPT 'a' PROMPT 'b'"), "DUPLICATE_CLAUSE 1:34");
  assert_text(FaultOf("EVALUATE MODEL m FROM d FROM e"), "DUPLICATE_CLAUSE 1:25");
}

void RequiredClauses(void**) {
  assert_text(FaultOf("TRAIN MODEL m FOR 1 STEPS"), "SYNTAX 1:26");
  assert_text(FaultOf("CREATE MODEL m WITH (a=1);"), "SYNTAX 1:26");
  assert_text(FaultOf("CREATE DATASET d FROM 'x'"), "SYNTAX 1:26");
  assert_text(FaultOf("CREATE DATASET d FORMAT text"), "SYNTAX 1:29");
  assert_text(FaultOf("EVALUATE MODEL m"), "SYNTAX 1:17");
  assert_text(FaultOf("GENERATE FROM MODEL m"), "SYNTAX 1:22");
  assert_text(FaultOf("CREATE MODEL m ARCHITECTURE llama WITH VERSIONS"), "SYNTAX 1:40");
  assert_text(FaultOf("CREATE MODEL m ARCHITECTURE llama WITH ()"), "SYNTAX 1:41");
}

void NamesAndReservedWords(void**) {
  const auto train = ParseAs<Train>("TRAIN MODEL model FROM dataset AS wait INTO \"from\" FOR 1 STEPS");
  assert_text(train.model.name.text, "model");
  assert_text(train.sources[0].value.text, "dataset");
  assert_text(train.job_name->text, "wait");
  assert_text(train.into->text, "from");
  assert_text(FaultOf("TRAIN MODEL m AS FROM d"), "SYNTAX 1:18");
  assert_text(FaultOf("DESCRIBE MODEL with"), "SYNTAX 1:16");
  assert_text(ParseAs<CreateModel>("CREATE MODEL \"say \"\"hi\"\"\" LIKE x").name.text, "say \"hi\"");
  assert_text(ParseAs<CreateModel>("CREATE MODEL m LIKE 'a b'").preset->text, "a b");
  assert_text(FaultOf("CREATE MODEL m LIKE 'a' LIKE b"), "DUPLICATE_CLAUSE 1:25");
  assert_true(ParseAs<CreateModel>("CREATE MODEL IF NOT EXISTS \"if\" LIKE x").if_not_exists);
}

void ParametersInOrderOfAppearance(void**) {
  const auto names = [](std::string_view text) {
    const auto parsed = ParseOne(text);
    assert_ok(parsed);
    std::string all;
    for (const Parameter& parameter : parsed->parameters) all += (all.empty() ? "" : " ") + parameter.name;
    return all;
  };
  assert_text(names("TRAIN MODEL $m AS ? FROM $d FOR ? STEPS INTO $m"), "m 1 d 2");
  assert_text(names("TRAIN MODEL ?2 AS ? FROM ?2 FOR ?1 STEPS"), "2 3 1");
  assert_text(names("SHOW JOBS WHERE id = ? AND name = $n LIMIT $n"), "1 n");
  assert_text(names("SELECT $a, $b, $a, ?"), "a b 1");
  assert_text(names("LET $x = $y"), "y");
  assert_text(names("LET $x = $x"), "x");
  assert_text(FaultOf("LET ? = 1"), "SYNTAX 1:5");
}

void ValuesOfEveryKind(void**) {
  const auto value = [](std::string_view text) { return ParseAs<Set>("SET a = " + std::string(text)).value; };
  assert_true(value("'it''s'").kind == Value::Kind::kString);
  assert_text(value("'it''s'").text, "it's");
  assert_int_equal(value("-3").quantity.integer, -3);
  assert_true(value("- 0.5").quantity.value == -0.5);
  assert_int_equal(value("-3").position.column, 9);
  assert_text(value("bf16").text, "bf16");
  assert_text(value("Train").text, "Train");
  assert_true(value("\"x y\"").kind == Value::Kind::kWord);
  assert_text(FaultOf("SET a = --3"), "SYNTAX 1:8");  // a comment
  assert_text(FaultOf("SET a = - -3"), "SYNTAX 1:11");
  assert_text(FaultOf("TRAIN MODEL m FROM d FOR -1 STEPS"), "SYNTAX 1:26");
}

void ScriptsReportEveryBadStatement(void**) {
  const ParsedScript script =
      Parse("SHOW JOBZ;\nSHOW JOBS;;\n ; TRAIN MODEL m FORM d;\nNONSENSE; 12abc; SHOW JOBS");
  assert_int_equal(script.statements.size(), 6);
  assert_int_equal(script.errors.size(), 4);
  assert_int_equal(script.errors[0].position().line, 1);
  assert_int_equal(script.errors[1].position().column, 18);
  assert_int_equal(script.errors[2].position().line, 4);
  assert_code(script.errors[3], ErrorCode::INVALID_NUMBER);
  assert_true(script.statements[1].statement.has_value());
  assert_false(script.statements[0].statement.has_value());
  assert_text(script.statements[0].kind, "");
  assert_true(script.open == OpenEnd::kStatement);
}

void StatementsKnowTheirPlace(void**) {
  const std::string text = " -- first\n SHOW JOBS /* x */ ;\n\n  SHOW é; SELECT 1 ;";
  const ParsedScript script = Parse(text, {1000, 5, 3});
  assert_int_equal(script.statements.size(), 3);
  const auto slice = [&](size_t i) {
    const ParsedStatement& parsed = script.statements[i];
    return text.substr(static_cast<size_t>(parsed.begin), static_cast<size_t>(parsed.end - parsed.begin));
  };
  assert_text(slice(0), "SHOW JOBS");
  assert_text(slice(1), "SHOW é");
  assert_text(slice(2), "SELECT 1");
  assert_int_equal(script.statements[0].position.line, 6);
  assert_int_equal(script.statements[0].position.column, 2);
  assert_int_equal(script.statements[0].position.offset, 1011);
  assert_text(script.statements[0].kind, "SHOW JOBS");
  assert_true(script.open == OpenEnd::kNothing);
}

void WhatIsStillOpen(void**) {
  const auto open = [](std::string_view text) { return Parse(text).open; };
  assert_true(open("") == OpenEnd::kNothing);
  assert_true(open("SHOW JOBS; -- x") == OpenEnd::kNothing);
  assert_true(open("SHOW") == OpenEnd::kStatement);
  assert_true(open("SHOW JOBS") == OpenEnd::kStatement);
  assert_true(open("INCLUDE 'x") == OpenEnd::kString);
  assert_true(open("DESCRIBE MODEL \"x") == OpenEnd::kName);
  assert_true(open("SHOW JOBS; /* x") == OpenEnd::kComment);
  assert_true(open("SELECT (1 + (2)") == OpenEnd::kParenthesis);
  assert_true(open("CREATE MODEL m ARCHITECTURE llama WITH (a=1,") == OpenEnd::kParenthesis);
  assert_true(open("SELECT (1); SHOW") == OpenEnd::kStatement);
}

void HelpWords(void**) {
  assert_text(ParseAs<Help>("HELP").word, "");
  assert_text(ParseAs<Help>("help  create\n model").word, "CREATE MODEL");
  assert_text(ParseAs<Help>("HELP from where learning_rate").word, "FROM WHERE LEARNING_RATE");
  assert_text(ParseAs<Help>("HELP 100").word, "100");
  assert_text(FaultOf("HELP 24GiB"), "SYNTAX 1:6");
  assert_text(FaultOf("HELP 'x'"), "SYNTAX 1:6");
  assert_text(FaultOf("HELP \"x\""), "SYNTAX 1:6");
}

void ExactlyOne(void**) {
  assert_ok(ParseOne("SHOW JOBS"));
  assert_ok(ParseOne(" SHOW JOBS ; -- done"));
  assert_text(FaultOf(""), "SYNTAX 1:1");
  assert_text(FaultOf(" ; "), "SYNTAX 1:1");
  assert_text(FaultOf("SHOW JOBS; SHOW GPUS"), "SYNTAX 1:12");
  assert_text(FaultOf("SHOW JOBS; 'x"), "UNTERMINATED_STRING 1:12");
}

void EndsOfStatements(void**) {
  assert_text(FaultOf("TRAIN MODEL"), "SYNTAX 1:12");
  assert_text(FaultOf("TRAIN MODEL  \n "), "SYNTAX 1:12");
  assert_text(FaultOf("TRAIN MODEL  ;"), "SYNTAX 1:14");
  assert_text(FaultOf("SELECT"), "SYNTAX 1:7");
  assert_text(FaultOf("ASSERT , 'x'"), "SYNTAX 1:8");
}

std::string Repeat(std::string_view text, int64_t times) {
  std::string all;
  for (int64_t i = 0; i < times; ++i) all += text;
  return all;
}

void ListsAreBounded(void**) {
  const auto options = [](int64_t n) {
    return "SET a = 1; EVALUATE MODEL m FROM d USING (a" + Repeat(",a", n - 1) + ")";
  };
  assert_true(Parse(options(kMaxListItems)).errors.empty());
  const ParsedScript script = Parse(options(kMaxListItems + 1));
  assert_int_equal(script.errors.size(), 1);
  assert_code(script.errors[0], ErrorCode::STATEMENT_TOO_LONG);
  assert_int_equal(script.errors[0].position().column, 43 + 2 * kMaxListItems);
  for (const char* head : {"PAUSE JOB 1", "WAIT FOR JOB 1", "TRAIN MODEL m ON GPU a:1"}) {
    const std::string tail = std::string(head).find("GPU") == std::string::npos ? "" : " FROM d";
    const std::string item = tail.empty() ? ",1" : ",a:1";
    assert_text(FaultOf(head + Repeat(item, kMaxListItems - 1) + tail), "OK");
    assert_code(ErrorOf(head + Repeat(item, kMaxListItems) + tail), ErrorCode::STATEMENT_TOO_LONG);
  }
  assert_code(ErrorOf("TRAIN MODEL m FROM 'd'" + Repeat(",'d'", kMaxListItems)),
              ErrorCode::STATEMENT_TOO_LONG);
  assert_code(ErrorOf("CREATE DATASET m FROM 'd'" + Repeat(",'d'", kMaxListItems) + " FORMAT text"),
              ErrorCode::STATEMENT_TOO_LONG);
  assert_code(ErrorOf("ALTER JOB 1 SET BUDGET (a <= 1" + Repeat(",a <= 1", kMaxListItems) + ")"),
              ErrorCode::STATEMENT_TOO_LONG);
  assert_text(FaultOf("HELP" + Repeat(" a", kMaxListItems)), "OK");
  assert_code(ErrorOf("HELP" + Repeat(" a", kMaxListItems + 1)), ErrorCode::STATEMENT_TOO_LONG);
}

void NumbersOfParametersAreBounded(void**) {
  std::string names;
  for (int64_t i = 0; i < kMaxListItems; ++i) names += "$a" + std::to_string(i) + ",";
  assert_text(FaultOf("SELECT " + names + "$a0"), "OK");
  assert_code(ErrorOf("SELECT " + names + "$b"), ErrorCode::STATEMENT_TOO_LONG);
  assert_text(FaultOf("SELECT ?" + Repeat(",?", kMaxListItems - 1)), "OK");
  assert_code(ErrorOf("SELECT ?" + Repeat(",?", kMaxListItems)), ErrorCode::SYNTAX);
}

void DepthIsBounded(void**) {
  const auto nested = [](int64_t depth) { return "SELECT " + Repeat("(", depth) + "1" + Repeat(")", depth); };
  assert_text(FaultOf(nested(kMaxExpressionDepth - 1)), "OK");
  assert_text(FaultOf(nested(kMaxExpressionDepth)), "OK");
  assert_text(FaultOf(nested(kMaxExpressionDepth + 1)),
              "NESTING_TOO_DEEP 1:" + std::to_string(8 + kMaxExpressionDepth));
}

void ScriptsAreBounded(void**) {
  const auto padded = [](int64_t size) {
    std::string text = "SHOW JOBS;";
    text.resize(static_cast<size_t>(size), ' ');
    return text;
  };
  assert_true(Parse(padded(kMaxScriptBytes - 1)).errors.empty());
  assert_true(Parse(padded(kMaxScriptBytes)).errors.empty());
  const ParsedScript long_script = Parse(padded(kMaxScriptBytes + 1));
  assert_int_equal(long_script.errors.size(), 1);
  assert_code(long_script.errors[0], ErrorCode::STATEMENT_TOO_LONG);
  assert_true(long_script.statements.empty());

  assert_true(Parse(Repeat("RESET;", kMaxScriptStatements)).errors.empty());
  const ParsedScript many = Parse(Repeat("RESET;", kMaxScriptStatements + 1));
  assert_int_equal(many.errors.size(), 1);
  assert_code(many.errors[0], ErrorCode::STATEMENT_TOO_LONG);
  assert_int_equal(many.errors[0].position().offset, 6 * kMaxScriptStatements);

  assert_int_equal(Parse(Repeat("x;", kMaxScriptErrors - 1)).errors.size(), kMaxScriptErrors - 1);
  assert_int_equal(Parse(Repeat("x;", kMaxScriptErrors + 1)).errors.size(), kMaxScriptErrors);
}

void NothingIsReadBehindDamage(void**) {
  const ParsedScript script = Parse("SHOW JOBZ; SHOW \xFF; NONSENSE");
  assert_int_equal(script.errors.size(), 2);
  assert_code(script.errors[1], ErrorCode::INVALID_UTF8);
  assert_int_equal(script.errors[1].position().column, 17);
  assert_int_equal(Parse("SHOW JOBS;\xFF").errors.size(), 1);
  assert_int_equal(Parse("/* \xFF */ SHOW JOBS").errors.size(), 1);
}

}  // namespace
}  // namespace traind::grammar

int main() {
  using namespace traind::grammar;
  const CMUnitTest tests[] = {
      cmocka_unit_test(TrainInFull),
      cmocka_unit_test(ClausesInAnyOrder),
      cmocka_unit_test(RepeatedClausesNameTheFirst),
      cmocka_unit_test(RequiredClauses),
      cmocka_unit_test(NamesAndReservedWords),
      cmocka_unit_test(ParametersInOrderOfAppearance),
      cmocka_unit_test(ValuesOfEveryKind),
      cmocka_unit_test(ScriptsReportEveryBadStatement),
      cmocka_unit_test(StatementsKnowTheirPlace),
      cmocka_unit_test(WhatIsStillOpen),
      cmocka_unit_test(HelpWords),
      cmocka_unit_test(ExactlyOne),
      cmocka_unit_test(EndsOfStatements),
      cmocka_unit_test(ListsAreBounded),
      cmocka_unit_test(NumbersOfParametersAreBounded),
      cmocka_unit_test(DepthIsBounded),
      cmocka_unit_test(ScriptsAreBounded),
      cmocka_unit_test(NothingIsReadBehindDamage),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
