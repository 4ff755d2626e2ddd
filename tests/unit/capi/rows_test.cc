// Conversions of cells, each against a table.
#include "capi/rows.h"

#include <cstdlib>
#include <ctime>

#include "tests/support/test.h"

using namespace traind;
using namespace traind::capi;

namespace {

void integers_convert_as_in_sqlite(void**) {
  const struct {
    Json cell;
    int64_t expected;
  } cases[] = {{nullptr, 0},
               {7, 7},
               {-7, -7},
               {true, 1},
               {2.9, 2},
               {-2.9, -2},
               {1e300, INT64_MAX},
               {-1e300, INT64_MIN},
               {"12 apples", 12},
               {" -3.9", -3},
               {"x", 0},
               {"1e3", 1000},
               {UINT64_MAX, INT64_MAX},
               {"9007199254740993", 9007199254740993}};
  for (const auto& item : cases) assert_int_equal(CellInteger(item.cell), item.expected);
}

void reals_convert_as_in_sqlite(void**) {
  const struct {
    Json cell;
    double expected;
  } cases[] = {{nullptr, 0}, {7, 7}, {0.1, 0.1}, {"0.5x", 0.5}, {"+2", 2}, {"", 0}, {false, 0}};
  for (const auto& item : cases) assert_true(CellReal(item.cell) == item.expected);
}

void text_reads_back_equal(void**) {
  const struct {
    Json cell;
    const char* expected;
  } cases[] = {{"text", "text"},
               {5, "5"},
               {5.0, "5.0"},
               {0.1, "0.1"},
               {1e-7, "1e-07"},
               {1e300, "1e+300"},
               {-0.0, "-0.0"},
               {true, "1"},
               {Json::array({1, "a"}), "[1,\"a\"]"},
               {5.544317722320557, "5.544317722320557"},
               {UINT64_MAX, "18446744073709551615"}};
  for (const auto& item : cases) assert_text(CellText(item.cell), item.expected);
  for (double value : {1.0 / 3, 2.2250738585072014e-308, 123456789.123456789}) {
    assert_true(strtod(CellText(Json(value)).c_str(), nullptr) == value);
  }
}

void display_shows_units(void**) {
  setenv("TZ", "UTC", 1);
  tzset();
  assert_text(CellDisplay(Json(1610612736), "bytes"), "1.50 GiB");
  assert_text(CellDisplay(Json(7500), "seconds"), "2h 05m");
  assert_text(CellDisplay(Json(1796284805.25), "time"), "2026-12-03 08:00:05");
  assert_text(CellDisplay(Json(5.544317722320557), "real"), "5.54432");
  assert_text(CellDisplay(Json(8192), "integer"), "8192");
  assert_text(CellDisplay(Json(), "bytes"), "");
  assert_text(CellDisplay(Json("as it is"), "bytes"), "as it is");
}

void rows_become_json_objects(void**) {
  std::vector<ColumnInfo> columns = {
      {"a", "integer"}, {"b", "real"}, {"a", "text"}, {"j", "json"}, {"j", "json"}};
  assert_text(RowAsJson(columns, Json::array({1, 2.0, "x\"y", "{\"k\":[1]}", "no json"})),
              R"({"a": 1, "b": 2.0, "a_2": "x\"y", "j": {"k":[1]}, "j_2": "no json"})");
  assert_text(RowAsJson({}, Json::array()), "{}");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(integers_convert_as_in_sqlite), cmocka_unit_test(reals_convert_as_in_sqlite),
      cmocka_unit_test(text_reads_back_equal),         cmocka_unit_test(display_shows_units),
      cmocka_unit_test(rows_become_json_objects),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
