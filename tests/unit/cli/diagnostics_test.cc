// Errors as they are shown.
#include "clients/cli/diagnostics.h"

#include "clients/cli/progress.h"
#include "tests/support/test.h"

#include <cmath>

using namespace traind::cli;

namespace {

Diagnostic At(int32_t line, int32_t column) {
  Diagnostic diagnostic;
  diagnostic.code = TRAIND_SYNTAX;
  diagnostic.name = "SYNTAX";
  diagnostic.message = "unexpected FORM";
  diagnostic.line = line;
  diagnostic.column = column;
  return diagnostic;
}

void a_syntax_error_with_everything(void**) {
  Diagnostic diagnostic = At(2, 15);
  diagnostic.expected = {"FROM", "AS", "a name"};
  diagnostic.hint = "did you mean FROM?";
  assert_text(FormatDiagnostic(diagnostic, {"night.tql", "SHOW JOBS;\nTRAIN MODEL m FORM d;\n"}, {}),
              "night.tql:2:15: SYNTAX: unexpected FORM\n"
              "  TRAIN MODEL m FORM d;\n"
              "                ^\n"
              "  expected: FROM, AS, a name\n"
              "  hint: did you mean FROM?\n");
}

void the_mark_stands_below_wide_characters_and_tabs(void**) {
  assert_text(FormatDiagnostic(At(1, 6), {"f", "\t'日本' X"}, {}),
              "f:1:6: SYNTAX: unexpected FORM\n"
              "   '日本' X\n"
              "         ^\n");
}

void places_at_and_behind_the_end(void**) {
  assert_text(FormatDiagnostic(At(1, 5), {"f", "DROP"}, {}),
              "f:1:5: SYNTAX: unexpected FORM\n  DROP\n      ^\n");
  assert_text(FormatDiagnostic(At(1, 99), {"f", "DROP"}, {}),
              "f:1:99: SYNTAX: unexpected FORM\n  DROP\n      ^\n");
  assert_text(FormatDiagnostic(At(9, 1), {"f", "DROP"}, {}), "f:9:1: SYNTAX: unexpected FORM\n");
}

void long_lines_are_cut_around_the_place(void**) {
  std::string line = "SELECT " + std::string(200, 'a') + " FORM " + std::string(200, 'b');
  std::string text = FormatDiagnostic(At(1, 209), {"f", line}, {false, 60});
  size_t first = text.find('\n') + 1, second = text.find('\n', first) + 1;
  std::string excerpt = text.substr(first, second - first - 1), mark = text.substr(second);
  assert_true(excerpt.size() <= 60);
  assert_true(excerpt.starts_with("  ...aaa"));
  assert_true(excerpt.ends_with("bbb..."));
  assert_true(excerpt.substr(mark.find('^')).starts_with("FORM"));
}

void errors_without_a_place(void**) {
  Diagnostic diagnostic = At(0, 0);
  diagnostic.name = "DAEMON_UNREACHABLE";
  diagnostic.message = "no daemon\x1b[0m answers";
  assert_text(FormatDiagnostic(diagnostic, {"trainql", ""}, {}),
              "trainql: DAEMON_UNREACHABLE: no daemon\\x1b[0m answers\n");
  assert_text(FormatDiagnostic(diagnostic, {"", ""}, {true, 80}),
              "\x1b[1;31mDAEMON_UNREACHABLE\x1b[0m: no daemon\\x1b[0m answers\n");
}

JobProgress Running() {
  JobProgress progress;
  progress.job = 7;
  progress.state = "RUNNING";
  progress.step = 450;
  progress.total_steps = 1000;
  progress.loss = 2.34567;
  progress.val_loss = std::nan("");
  progress.tokens_per_second = 12345;
  progress.eta_seconds = 125;
  progress.prepared = progress.to_prepare = 0;
  return progress;
}

void the_bar_fits_into_the_window(void**) {
  JobProgress progress = Running();
  assert_text(FormatBar(progress, {100, false, false}),
              "job 7  RUNNING  [#########-----------]  45%  450/1000  loss 2.3457  eta 2m 05s  12.3k tok/s");
  assert_text(FormatBar(progress, {60, true, false}), "job 7  RUNNING  ━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌  45%  450/1000");
  assert_text(FormatBar(progress, {20, true, false}), "job 7  RUNNING");
  progress.total_steps = 0;
  assert_text(FormatBar(progress, {60, false, false}), "job 7  RUNNING  step 450  loss 2.3457  eta 2m 05s");
  progress.state = "PREPARING";
  progress.prepared = 30;
  progress.to_prepare = 40;
  assert_text(FormatBar(progress, {60, false, false}), "job 7  PREPARING  [###############-----]  75%");
}

void states_are_told_in_a_line(void**) {
  JobProgress progress = Running();
  assert_text(FormatState(progress), "job 7: RUNNING, step 450 of 1000, loss 2.3457");
  progress.state = "QUEUED";
  progress.step = 0;
  progress.loss = std::nan("");
  progress.text = "job 3 holds local:0";
  assert_text(FormatState(progress), "job 7: QUEUED: job 3 holds local:0");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_syntax_error_with_everything),
      cmocka_unit_test(the_mark_stands_below_wide_characters_and_tabs),
      cmocka_unit_test(places_at_and_behind_the_end),
      cmocka_unit_test(long_lines_are_cut_around_the_place),
      cmocka_unit_test(errors_without_a_place),
      cmocka_unit_test(the_bar_fits_into_the_window),
      cmocka_unit_test(states_are_told_in_a_line),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
