// Small things made of text: times, rooted and absolute paths, checksums, the nearest word.
#include <cstdlib>
#include <ctime>

#include "engine/base/checksum.h"
#include "engine/base/clock.h"
#include "engine/base/io.h"
#include "engine/base/nearest.h"
#include "engine/base/rooted_path.h"
#include "tests/support/test.h"

namespace traind {
namespace {

void times_are_printed_in_utc(void**) {
  assert_text(FormatTime(0), "1970-01-01T00:00:00Z");
  assert_text(FormatTime(1796284805.9), "2026-12-03T08:00:05Z");
  assert_text(FormatTime(253402300799.0), "9999-12-31T23:59:59Z");
  assert_text(FormatTime(-1), "(no time)");
  assert_text(FormatTime(1e300), "(no time)");
  assert_text(FormatTime(__builtin_nan("")), "(no time)");
}

void utc_times_are_read(void**) {
  for (const char* text : {"2026-12-03 08:00:05Z", "2026-12-03T08:00:05Z", "2026-12-03T08:00:05z"}) {
    const auto time = ParseTime(text);
    assert_ok(time);
    assert_true(*time == 1796284805.0);
  }
  assert_true(*ParseTime("2024-02-29 00:00Z") == 1709164800.0);
  assert_true(*ParseTime("1970-01-01 00:00Z") == 0.0);
}

void local_times_follow_the_zone(void**) {
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  assert_text(FormatTime(*ParseTime("2026-12-03 08:00")), "2026-12-03T07:00:00Z");
  assert_text(FormatTime(*ParseTime("2026-07-03 08:00:30")), "2026-07-03T06:00:30Z");
  assert_text(FormatTime(*ParseTime("2026-07-03")), "2026-07-02T22:00:00Z");
  unsetenv("TZ");
  tzset();
}

void other_times_are_refused(void**) {
  for (const char* text : {"",
                           "tomorrow",
                           "2026",
                           "2026-12",
                           "2026-12-3",
                           "2026-13-01",
                           "2026-00-10",
                           "2026-02-29",
                           "2026-04-31",
                           "2026-12-03 ",
                           "2026-12-03 8:00",
                           "2026-12-03 24:00",
                           "2026-12-03 08:60",
                           "2026-12-03 08:00:60",
                           "2026-12-03 08:00 ",
                           "2026-12-03 08:00:05+01",
                           "2026-12-03Z",
                           "1969-12-31 08:00",
                           "+2026-12-03",
                           "2026-12-03  08:00",
                           "2100-02-29"}) {
    assert_code(ParseTime(text), ErrorCode::INVALID_OPTION);
  }
  assert_false(ParseTime("x").status().hint().empty());
}

void the_clock_runs(void**) {
  const double wall = SystemClock().WallSeconds(), monotonic = SystemClock().MonotonicSeconds();
  assert_true(wall > 1.7e9);
  assert_true(SystemClock().MonotonicSeconds() >= monotonic);
  assert_int_equal(FormatTime(wall).size(), 20);
}

void rooted_paths_stay_below(void**) {
  assert_text(*RootedPath("/s", {"jobs", "7", "worker.log"}), "/s/jobs/7/worker.log");
  assert_text(*RootedPath("/s/", {"a"}), "/s/a");
  assert_text(*RootedPath("/", {"a"}), "/a");
  assert_text(*RootedPath("/s", {"...", "..a", ".tmp"}), "/s/.../..a/.tmp");
  assert_text(*RootedPath("/s", {}), "/s");
  for (const std::string_view part :
       {std::string_view(""), std::string_view("."), std::string_view(".."), std::string_view("a/b"),
        std::string_view("/"), std::string_view("../x"), std::string_view("a\0b", 3)}) {
    assert_code(RootedPath("/s", {"ok", part}), ErrorCode::FORBIDDEN_PATH);
  }
}

void paths_are_made_absolute(void**) {
  assert_text(AbsolutePath("/home/u", "a.txt"), "/home/u/a.txt");
  assert_text(AbsolutePath("/home/u/", "./a//b/../c/"), "/home/u/a/c");
  assert_text(AbsolutePath("/home/u", "../../../../x"), "/x");
  assert_text(AbsolutePath("/home/u", "/etc/./passwd"), "/etc/passwd");
  assert_text(AbsolutePath("/home/u", ""), "/home/u");
  assert_text(AbsolutePath("/", ".."), "/");
  assert_text(AbsolutePath("/d", "*.t?t"), "/d/*.t?t");
  assert_text(AbsolutePath("/d", "~/x"), "/d/~/x");
}

void checksums_are_xxh3_128(void**) {
  assert_text(Checksum(""), "99aa06d3014798d86001c324468d497f");
  assert_text(Checksum("abc"), "06b05ab6733a618578af5f94892f3950");
  ChecksumStream stream;
  stream.Update("a");
  stream.Update(std::as_bytes(std::span(std::string_view("bc"))));
  assert_text(stream.Hex(), Checksum("abc"));
  stream.Update("d");
  assert_text(stream.Hex(), Checksum("abcd"));
}

void pieces_do_not_change_a_checksum(void**) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += static_cast<char>(i * 31 % 251);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1024}, size_t{99999}}) {
    ChecksumStream stream;
    for (size_t at = 0; at < text.size(); at += piece)
      stream.Update(std::string_view(text).substr(at, piece));
    assert_text(stream.Hex(), Checksum(text));
  }
}

void the_nearest_word_is_found(void**) {
  const std::vector<std::string> known = {"hidden_size", "num_hidden_layers", "num_attention_heads", "seed"};
  assert_text(NearestWord("hiden_size", known), "hidden_size");
  assert_text(NearestWord("HIDDEN_SIZE", known), "hidden_size");
  assert_text(NearestWord("hidden_sizes", known), "hidden_size");
  assert_text(NearestWord("sede", known), "seed");
  assert_text(NearestWord("num_layers", known), "");
  assert_text(NearestWord("zzz", known), "");
  assert_text(NearestWord("", known), "");
  assert_text(NearestWord("x", std::vector<std::string>{"y"}), "");
  assert_text(NearestWord(std::string(100000, 'a'), known), "");
  assert_text(NearestWord("seed", std::vector<std::string>()), "");
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(times_are_printed_in_utc),
      cmocka_unit_test(utc_times_are_read),
      cmocka_unit_test(local_times_follow_the_zone),
      cmocka_unit_test(other_times_are_refused),
      cmocka_unit_test(the_clock_runs),
      cmocka_unit_test(rooted_paths_stay_below),
      cmocka_unit_test(paths_are_made_absolute),
      cmocka_unit_test(checksums_are_xxh3_128),
      cmocka_unit_test(pieces_do_not_change_a_checksum),
      cmocka_unit_test(the_nearest_word_is_found),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
