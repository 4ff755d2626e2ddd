// Widths, wrapping, and the cutting of scripts.
#include "clients/cli/text.h"

#include "clients/cli/script_text.h"
#include "tests/support/test.h"

using namespace traind::cli;

namespace {

void widths_are_those_of_the_terminal(void**) {
  const struct {
    const char* text;
    int width;
  } cases[] = {{"", 0},          {"abc", 3},      {"größer", 6}, {"日本", 4},        {"😀", 2},
               {"e\xCC\x81", 1}, {"\xff\xfe", 2}, {"a\xC3", 2},  {"\xED\xA0\x80", 3}};
  for (const auto& item : cases) assert_int_equal(DisplayWidth(item.text), item.width);
}

void control_characters_are_made_harmless(void**) {
  assert_text(Printable("a\x1b[31mb\tc\r\n\x7f", false), "a\\x1b[31mb\\tc\\r\\n\\x7f");
  assert_text(Printable("a\nb", true), "a\nb");
  assert_text(Printable("\xff ok \xE2\x80\xAE", false), "\xEF\xBF\xBD ok \\u202e");
  assert_text(Printable(std::string_view("a\0b", 3), false), "a\\x00b");
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "[" + line + "]";
  return text;
}

void wrapping_breaks_at_blanks_where_it_can(void**) {
  assert_text(Joined(WrapText("the quick brown fox", 10)), "[the quick][brown fox]");
  assert_text(Joined(WrapText("abcdefghij klm", 4)), "[abcd][efgh][ij][klm]");
  assert_text(Joined(WrapText("a\n\nb", 10)), "[a][][b]");
  assert_text(Joined(WrapText("日本語", 3)), "[日][本][語]");
  assert_text(Joined(WrapText("日本", 1)), "[日][本]");
  assert_text(Joined(WrapText("", 5)), "[]");
}

void nearest_words(void**) {
  std::vector<std::string_view> known = {".plot", ".quit", ".param"};
  assert_true(Nearest(".plt", known) == ".plot");
  assert_true(Nearest(".exti", known) == ".quit" || Nearest(".exti", known).empty());
  assert_true(Nearest(".pa", known) == ".param");
  assert_true(Nearest("zzzzzzzz", known).empty());
}

void dot_commands_stand_only_where_a_statement_may_begin(void**) {
  ScriptText script = SplitScript(
      "#!/usr/bin/trainql -f\n"
      "  .mode csv  \n"
      "SELECT 1\n"
      ".5;\n"
      "-- a comment; ' not a quote\n"
      ".timer on\n"
      "/* ;\n"
      ".quit */ SELECT 'x\n"
      ".quit';\n"
      "SELECT \"a\n"
      ".b\";\n"
      ".help");
  std::string seen;
  for (const DotLine& line : script.lines) seen += std::to_string(line.offset) + line.command + "|";
  assert_text(seen, "22.mode csv|77.timer on|134.help|");
  assert_true(script.statements.size() == 139);
  assert_true(script.statements.find(".mode") == std::string::npos);
  assert_true(script.statements.find(".5") != std::string::npos);
}

void a_line_after_an_unfinished_string_is_no_command(void**) {
  assert_true(SplitScript("SELECT 'it''s\n.help").lines.empty());
  assert_int_equal(SplitScript("SELECT 'it''s';\n.help").lines.size(), 1);
  assert_int_equal(SplitScript("SELECT 1 -- x\n;\n.help").lines.size(), 1);
  assert_true(SplitScript("SELECT 1 -- ;\n.help").lines.empty());
}

void words_may_be_quoted(void**) {
  assert_text(Joined(SplitWords(".plot loss 'my job'  7")), "[.plot][loss][my job][7]");
  assert_text(Joined(SplitWords(".read \"a b")), "[.read][a b]");
  assert_text(Joined(SplitWords("  ")), "");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(widths_are_those_of_the_terminal),
      cmocka_unit_test(control_characters_are_made_harmless),
      cmocka_unit_test(wrapping_breaks_at_blanks_where_it_can),
      cmocka_unit_test(nearest_words),
      cmocka_unit_test(dot_commands_stand_only_where_a_statement_may_begin),
      cmocka_unit_test(a_line_after_an_unfinished_string_is_no_command),
      cmocka_unit_test(words_may_be_quoted),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
