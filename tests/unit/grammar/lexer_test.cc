// The lexer: which bytes make which token, where it stands, and what is refused.
#include "grammar/lexer.h"

#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "tests/support/test.h"

namespace traind::grammar {
namespace {

constexpr SourcePosition kStart = {0, 1, 1};

std::string Describe(const Token& token) {
  if (token.code == kInvalidToken) return "!";
  return std::string(DisplayOf(token.code).empty() ? "operator" : DisplayOf(token.code));
}

// "code[text]" of every token up to the end.
std::string Lex(std::string_view text, Lexer::Mode mode = Lexer::Mode::kLanguage) {
  Lexer lexer(text, kStart);
  std::string all;
  for (Token token = lexer.Next(mode); token.code != TK_END || !token.text.empty();
       token = lexer.Next(mode)) {
    if (!all.empty()) all += ' ';
    all += Describe(token) + "[" + std::string(token.text) + "]";
  }
  return all;
}

Status FirstError(std::string_view text) {
  Lexer lexer(text, kStart);
  for (Token token = lexer.Next(Lexer::Mode::kLanguage); token.code != TK_END || !token.text.empty();
       token = lexer.Next(Lexer::Mode::kLanguage)) {
    if (token.code == kInvalidToken) return lexer.error();
  }
  return Ok();
}

void NamesJoinAtSingleDotsAndDashes(void**) {
  assert_text(Lex("run-2.a"), "a name[run-2.a]");
  assert_text(Lex("m-- note"), "a name[m]");
  assert_text(Lex("m--note\nx"), "a name[m] a name[x]");
  assert_text(Lex("a..b"), "a name[a] operator[.] operator[.] a name[b]");
  assert_text(Lex("a-"), "a name[a] -[-]");
  assert_text(Lex("a.-b"), "a name[a] operator[.] -[-] a name[b]");
  assert_text(Lex("_x9 A-1"), "a name[_x9] a name[A-1]");
  assert_text(Lex("\"my \"\"model\"\"\""), "a name[\"my \"\"model\"\"\"]");
  assert_text(Lex("tiny@1"), "a name[tiny] @[@] a number[1]");
}

void KeywordsInAnyCase(void**) {
  assert_text(Lex("train Model FROM"), "TRAIN[train] MODEL[Model] FROM[FROM]");
  assert_text(Lex("\"train\" trains train-2"), "a name[\"train\"] a name[trains] a name[train-2]");
}

void NumbersTakeTheirUnitsAlong(void**) {
  assert_text(
      Lex("512Ki 1d12h 8gpu_hours 1e-3 .5 24GiB 500USD 40kWh 2us"),
      "a number[512Ki] a number[1d12h] a number[8gpu_hours] a number[1e-3] a number[.5] a number[24GiB] "
      "a number[500USD] a number[40kWh] a number[2us]");
  assert_text(Lex("600GB/s 312TFLOPS 10% 10%)"),
              "a number[600GB/s] a number[312TFLOPS] a number[10%] a number[10%] )[)]");
  // No unit where an operator can be meant.
  assert_text(
      Lex("10%3 60/s 7GB/size 5 % 2", Lexer::Mode::kSql),
      "a number[10] operator[%] a number[3] a number[60] operator[/] a name[s] a number[7GB] operator[/] "
      "a name[size] a number[5] operator[%] a number[2]");
}

void BadNumbers(void**) {
  for (const char* text : {"12abc", "1.", "1.2.3", "24gib", "1e400", "9223372036854775808", "1h2d", "0x1F"}) {
    assert_code(FirstError(text), ErrorCode::INVALID_NUMBER);
  }
  assert_int_equal(FirstError("  24gib").position().column, 3);
  assert_code(FirstError(std::string(100000, '7')), ErrorCode::INVALID_NUMBER);
}

void Strings(void**) {
  assert_text(Lex("'it''s' '' 'a\nb'"), "a string['it''s'] a string[''] a string['a\nb']");
  assert_code(FirstError("'abc"), ErrorCode::UNTERMINATED_STRING);
  assert_code(FirstError("'abc''"), ErrorCode::UNTERMINATED_STRING);
  assert_code(FirstError("\"abc"), ErrorCode::UNTERMINATED_STRING);
  assert_code(FirstError("'"), ErrorCode::UNTERMINATED_STRING);
  assert_int_equal(FirstError("x\n 'abc").position().line, 2);
  assert_int_equal(FirstError("x\n 'abc").position().column, 2);
}

void CommentsAndBlanks(void**) {
  assert_text(Lex("a /* x * / ** */ b -- c\n d /**/ e /***/"), "a name[a] a name[b] a name[d] a name[e]");
  assert_code(FirstError("a /* b"), ErrorCode::UNTERMINATED_COMMENT);
  assert_code(FirstError("a /*/"), ErrorCode::UNTERMINATED_COMMENT);
  assert_code(FirstError("/* **"), ErrorCode::UNTERMINATED_COMMENT);
  assert_text(Lex("#!/usr/bin/trainql -f\nSHOW"), "SHOW[SHOW]");
  assert_text(Lex("\xEF\xBB\xBF#!x\nSHOW"), "SHOW[SHOW]");
  assert_code(FirstError(" #!"), ErrorCode::INVALID_CHARACTER);
  assert_text(Lex(""), "");
  assert_text(Lex("--"), "");
}

void ParametersAreNumbered(void**) {
  Lexer lexer("? $a ? ?5 ? ; ?", kStart);
  std::vector<int> ordinals;
  for (int i = 0; i < 7; ++i) {
    const Token token = lexer.Next(Lexer::Mode::kLanguage);
    if (token.code == TK_END) lexer.StartStatement();
    if (token.code == TK_POSITIONAL) ordinals.push_back(token.ordinal);
  }
  assert_true((ordinals == std::vector<int>{1, 2, 5, 6, 1}));
  for (const char* text : {"$", "$1", "?0", "?01", "?x", "?1025", "?99999999999999999999"}) {
    assert_code(FirstError(text), ErrorCode::SYNTAX);
  }
  assert_ok(FirstError("?1024"));
}

void OperatorsOfSql(void**) {
  assert_text(
      Lex("<= >= <> != == || -> ->> < > = + - * / ( ) , [ ] & | ~ << >> .", Lexer::Mode::kSql),
      "<=[<=] operator[>=] operator[<>] operator[!=] operator[==] operator[||] operator[->] operator[->>] "
      "<[<] operator[>] =[=] operator[+] -[-] operator[*] operator[/] ([(] )[)] ,[,] operator[[] "
      "operator[]] operator[&] operator[|] operator[~] operator[<<] operator[>>] operator[.]");
  assert_text(Lex("a-1.b x.y \"t\".c 0x1F", Lexer::Mode::kSql),
              "a name[a] -[-] ![1.b] a name[x] operator[.] a name[y] a name[\"t\"] operator[.] a name[c] "
              "operator[0x1F]");
  assert_text(Lex("step-24GiB", Lexer::Mode::kSql), "a name[step] -[-] a number[24GiB]");
}

void NameLengths(void**) {
  const std::string longest(static_cast<size_t>(kMaxNameCharacters), 'n');
  std::string umlauts;
  for (int64_t i = 0; i < kMaxNameCharacters; ++i) umlauts += "ü";
  std::string quotes;
  for (int64_t i = 0; i < kMaxNameCharacters; ++i) quotes += "\"\"";
  for (const std::string& good : {longest, "$" + longest, "\"" + umlauts + "\"", "\"" + quotes + "\""}) {
    assert_ok(FirstError(good));
  }
  for (const std::string& bad : {longest + "n", "$" + longest + "n", "\"" + umlauts + "n\"",
                                 "\"" + quotes + "n\"", std::string("\"\"")}) {
    assert_code(FirstError(bad), ErrorCode::NAME_TOO_LONG);
  }
  assert_text(Lex("\"" + longest + "n\"", Lexer::Mode::kSql), "a name[\"" + longest + "n\"]");
}

void ForeignCharacters(void**) {
  for (const char* text : {"#", "`a`", "{", "}", "\\", "^", "!", "é", "“x”", "\xC2\xA0", "\x01", "😀"}) {
    assert_code(FirstError(text), ErrorCode::INVALID_CHARACTER);
  }
  assert_text(FirstError("\xE2\x80\x98x").hint(), "Strings stand in straight quotes: 'text'.");
  assert_text(FirstError("é").message(), "the character 'é' (U+00E9) begins no word of the language");
  assert_text(FirstError("\x01").message(), "the character (U+0001) begins no word of the language");
  assert_code(FirstError("\"a\nb\""), ErrorCode::INVALID_CHARACTER);
  assert_code(FirstError("\"a\xC2\x85\""), ErrorCode::INVALID_CHARACTER);
  assert_text(Lex("a é b"), "a name[a] ![é] a name[b]");
}

void DamagedTextIsReadUpToTheDamage(void**) {
  assert_text(Lex("a b\xFF c"), "a name[a] a name[b] ![]");
  assert_text(Lex(std::string_view("a\0b", 3)), "a name[a] ![]");
  assert_code(FirstError("ok 'x\xC3'"), ErrorCode::INVALID_UTF8);  // not an unterminated string
  assert_code(FirstError("/* \xED\xA0\x80 */"), ErrorCode::INVALID_UTF8);
  assert_code(FirstError("\xC0\x80"), ErrorCode::INVALID_UTF8);
  assert_code(FirstError("\xF4\x90\x80\x80"), ErrorCode::INVALID_UTF8);
  assert_code(FirstError("\xE2\x82"), ErrorCode::INVALID_UTF8);
  assert_code(FirstError(std::string_view("'\0'", 3)), ErrorCode::INVALID_CHARACTER);
  const SourcePosition place = FirstError("'é'\n'ü\xFF'").position();
  assert_int_equal(place.offset, 8);
  assert_int_equal(place.line, 2);
  assert_int_equal(place.column, 3);
}

void PositionsCountCharacters(void**) {
  Lexer lexer("'é' a\r\n\tb /* é\n */ c", kStart);
  const auto expect = [&](int64_t offset, int line, int column) {
    const Token token = lexer.Next(Lexer::Mode::kLanguage);
    assert_int_equal(token.position.offset, offset);
    assert_int_equal(token.position.line, line);
    assert_int_equal(token.position.column, column);
  };
  expect(0, 1, 1);
  expect(5, 1, 5);
  expect(9, 2, 2);
  expect(21, 3, 5);
  expect(22, 3, 6);  // the end: behind the last token
  Lexer inside("x", {100, 7, 9});
  const Token token = inside.Next(Lexer::Mode::kLanguage);
  assert_int_equal(token.position.offset, 100);
  assert_int_equal(token.position.line, 7);
  assert_int_equal(token.position.column, 9);
}

}  // namespace
}  // namespace traind::grammar

int main() {
  using namespace traind::grammar;
  const CMUnitTest tests[] = {
      cmocka_unit_test(NamesJoinAtSingleDotsAndDashes),
      cmocka_unit_test(KeywordsInAnyCase),
      cmocka_unit_test(NumbersTakeTheirUnitsAlong),
      cmocka_unit_test(BadNumbers),
      cmocka_unit_test(Strings),
      cmocka_unit_test(CommentsAndBlanks),
      cmocka_unit_test(ParametersAreNumbered),
      cmocka_unit_test(OperatorsOfSql),
      cmocka_unit_test(NameLengths),
      cmocka_unit_test(ForeignCharacters),
      cmocka_unit_test(DamagedTextIsReadUpToTheDamage),
      cmocka_unit_test(PositionsCountCharacters),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
