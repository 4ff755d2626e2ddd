// Charts.
#include "clients/cli/plot.h"

#include <cmath>

#include "clients/cli/text.h"
#include "tests/support/test.h"

using namespace traind::cli;

namespace {

Series Falling(const char* label, double floor) {
  Series series{label, {}, {}};
  for (int step = 1; step <= 100; ++step) {
    series.x.push_back(step);
    series.y.push_back(floor + 4.0 / step);
  }
  return series;
}

PlotOptions Small() {
  PlotOptions options;
  options.title = "loss of job 1";
  options.width = 40;
  options.height = 6;
  return options;
}

void one_curve_in_ascii(void**) {
  assert_text(Plot({{"job 1", {1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}}}, Small()),
              "loss of job 1\n"
              "  5 +****\n"
              "    |    *******\n"
              "    |           ******\n"
              "    |                 *******\n"
              "1.8 +                        *******\n"
              "  1 +                               ****\n"
              "    +-----------------------------------\n"
              "     1              step               5\n");
}

void two_curves_have_marks_and_a_legend(void**) {
  std::string text = Plot({Falling("job 1", 1), Falling("job 2 nightly", 3)}, Small());
  assert_true(text.find('*') != std::string::npos);
  assert_true(text.find('o') != std::string::npos);
  assert_true(text.find("** job 1\n") != std::string::npos);
  assert_true(text.find("oo job 2 nightly\n") != std::string::npos);
}

void braille_and_colours(void**) {
  PlotOptions options = Small();
  options.utf8 = true;
  std::string one = Plot({Falling("job 1", 1)}, options);
  assert_true(one.find("⡇") != std::string::npos);
  assert_true(one.find("└─") != std::string::npos);
  assert_true(one.find('\x1b') == std::string::npos);
  options.colour = true;
  std::string two = Plot({Falling("job 1", 1), Falling("job 2", 3)}, options);
  assert_true(two.find("\x1b[36m") != std::string::npos);
  assert_true(two.find("\x1b[33m") != std::string::npos);
}

void lines_stay_within_the_width(void**) {
  for (int width : {20, 40, 79, 200}) {
    PlotOptions options = Small();
    options.title.clear();
    options.width = width;
    std::string text = Plot({Falling("j", 1e6)}, options);
    for (const std::string& line : WrapText(text, 0)) assert_true(DisplayWidth(line) <= std::max(width, 30));
  }
}

void points_that_are_none_are_left_out(void**) {
  assert_text(Plot({{"j", {1, 2}, {std::nan(""), std::nan("")}}}, Small()), "");
  assert_text(Plot({}, Small()), "");
  assert_true(!Plot({{"j", {1}, {2}}}, Small()).empty());
  assert_true(!Plot({{"j", {1, 2, 3}, {1, INFINITY, 3}}}, Small()).empty());
  assert_true(!Plot({{"j", {5, 5}, {0, 0}}}, Small()).empty());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(one_curve_in_ascii),
      cmocka_unit_test(two_curves_have_marks_and_a_legend),
      cmocka_unit_test(braille_and_colours),
      cmocka_unit_test(lines_stay_within_the_width),
      cmocka_unit_test(points_that_are_none_are_left_out),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
