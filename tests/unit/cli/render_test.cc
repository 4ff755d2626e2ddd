// Each format against what it must look like.
#include "clients/cli/render.h"

#include "tests/support/test.h"

using namespace traind::cli;

namespace {

const std::vector<ColumnHead> kHeads = {{"id", true}, {"name", false}, {"loss", true}, {"note", false}};

RowText Row(std::vector<std::string> cells, std::vector<bool> null, std::string json) {
  return {std::move(cells), std::move(null), std::move(json)};
}

// The raw or display cells do: the renderer prints what it is given.
std::string Rendered(std::string_view format, const RenderOptions& options) {
  std::string out;
  auto renderer = MakeRenderer(format, options, &out);
  renderer->Begin(kHeads);
  renderer->Row(Row({"1", "plain", "2.5", ""}, {false, false, false, true}, R"({"id": 1})"));
  renderer->Row(
      Row({"20", "a,\"b\"|\\", "-0.125", "two\nlines"}, {false, false, false, false}, R"({"id": 20})"));
  renderer->Row(Row({"300", "日本\t\x1b[1m", "7", ""}, {false, false, false, false}, R"({"id": 300})"));
  renderer->End();
  return out;
}

void table(void**) {
  assert_text(Rendered("table", {}),
              " id  name             loss  note\n"
              "---  -------------  ------  -----\n"
              "  1  plain             2.5\n"
              " 20  a,\"b\"|\\        -0.125  two\n"
              "                            lines\n"
              "300  日本\\t\\x1b[1m       7\n");
}

void box(void**) {
  assert_text(Rendered("box", {0, true}),
              "┌─────┬───────────────┬────────┬───────┐\n"
              "│  id │ name          │   loss │ note  │\n"
              "├─────┼───────────────┼────────┼───────┤\n"
              "│   1 │ plain         │    2.5 │       │\n"
              "│  20 │ a,\"b\"|\\       │ -0.125 │ two   │\n"
              "│     │               │        │ lines │\n"
              "│ 300 │ 日本\\t\\x1b[1m │      7 │       │\n"
              "└─────┴───────────────┴────────┴───────┘\n");
}

void box_without_utf8(void**) {
  std::string text = Rendered("box", {0, false});
  assert_true(text.starts_with("+-----+---------------+--------+-------+\n|  id | name "));
  assert_true(text.ends_with("+-----+---------------+--------+-------+\n"));
}

void csv_follows_rfc_4180(void**) {
  assert_text(Rendered("csv", {}),
              "id,name,loss,note\n"
              "1,plain,2.5,\n"
              "20,\"a,\"\"b\"\"|\\\",-0.125,\"two\nlines\"\n"
              "300,日本\t\x1b[1m,7,\"\"\n");
}

void tsv_has_one_line_per_row(void**) {
  assert_text(Rendered("tsv", {}),
              "id\tname\tloss\tnote\n"
              "1\tplain\t2.5\t\n"
              "20\ta,\"b\"|\\\\\t-0.125\ttwo\\nlines\n"
              "300\t日本\\t\x1b[1m\t7\t\n");
}

void json_is_one_array_of_objects(void**) {
  assert_text(Rendered("json", {}), "[\n  {\"id\": 1},\n  {\"id\": 20},\n  {\"id\": 300}\n]\n");
  std::string out;
  auto renderer = MakeRenderer("json", {}, &out);
  renderer->Begin(kHeads);
  renderer->End();
  assert_text(out, "[]\n");
}

void jsonl_is_an_object_per_line(void**) {
  assert_text(Rendered("jsonl", {}), "{\"id\": 1}\n{\"id\": 20}\n{\"id\": 300}\n");
}

void markdown(void**) {
  assert_text(Rendered("markdown", {}),
              "|  id | name            |   loss | note         |\n"
              "| --: | --------------- | -----: | ------------ |\n"
              "|   1 | plain           |    2.5 |              |\n"
              "|  20 | a,\"b\"\\|\\\\       | -0.125 | two<br>lines |\n"
              "| 300 | 日本\\\\t\\\\x1b[1m |      7 |              |\n");
}

void line(void**) {
  assert_true(Rendered("line", {})
                  .starts_with("  id  1\n"
                               "name  plain\n"
                               "loss  2.5\n"
                               "note\n"
                               "\n"
                               "  id  20\n"
                               "name  a,\"b\"|\\\n"
                               "loss  -0.125\n"
                               "note  two\n"
                               "      lines\n"));
}

void wide_tables_wrap_their_texts_to_the_terminal(void**) {
  std::string out;
  auto renderer = MakeRenderer("table", {40, true}, &out);
  renderer->Begin({{"id", true}, {"statement", false}, {"n", true}});
  renderer->Row(
      Row({"1", "TRAIN MODEL m FROM d FOR 100 STEPS WITH BUDGET 4h", "12345678"}, {false, false, false}, ""));
  renderer->End();
  assert_text(out,
              "id  statement                          n\n"
              "--  --------------------------  --------\n"
              " 1  TRAIN MODEL m FROM d FOR    12345678\n"
              "    100 STEPS WITH BUDGET 4h\n");
}

void tables_too_wide_for_that_become_lines(void**) {
  std::string out;
  auto renderer = MakeRenderer("box", {30, true}, &out);
  std::vector<ColumnHead> heads;
  RowText row;
  for (int i = 0; i < 8; ++i) {
    heads.push_back({"column" + std::to_string(i), false});
    row.cells.push_back("value " + std::to_string(i));
    row.null.push_back(false);
  }
  renderer->Begin(heads);
  renderer->Row(row);
  renderer->End();
  assert_true(out.starts_with("column0  value 0\ncolumn1  value 1\n"));
}

void a_growing_table_keeps_its_widths(void**) {
  std::string out;
  auto renderer = MakeRenderer("table", {}, &out);
  renderer->Begin({{"line", false}});
  renderer->Row(Row({"first"}, {false}, ""));
  renderer->Flush();
  assert_text(out, "line\n-----\nfirst\n");
  renderer->Row(Row({"second"}, {false}, ""));
  renderer->End();
  assert_text(out, "line\n-----\nfirst\nsecon\nd\n");
}

void empty_results_show_their_columns(void**) {
  std::string out;
  auto renderer = MakeRenderer("table", {}, &out);
  renderer->Begin({{"id", true}, {"name", false}});
  renderer->End();
  assert_text(out, "id  name\n--  ----\n");
}

void json_alone_is_printed_bare(void**) {
  const ColumnHead plan{"plan", false, true};
  for (const char* format : {"table", "box"}) {
    std::string out;
    auto renderer = MakeRenderer(format, {20, true}, &out);
    renderer->Begin({plan});
    renderer->Row(Row({R"({"steps": 100, "model": "m", "k": 1})"}, {false}, ""));
    renderer->Flush();
    renderer->End();
    assert_text(out, "{\"steps\": 100, \"model\": \"m\", \"k\": 1}\n");
  }
  std::string out;
  auto renderer = MakeRenderer("table", {}, &out);
  renderer->Begin({plan});
  renderer->Row(Row({"[1]"}, {false}, ""));
  renderer->Row(Row({"[2]"}, {false}, ""));
  renderer->End();
  assert_text(out, "plan\n----\n[1]\n[2]\n");
}

void unknown_formats(void**) {
  std::string out;
  assert_true(MakeRenderer("xml", {}, &out) == nullptr);
  assert_int_equal(FormatNames().size(), 8);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(table),
      cmocka_unit_test(box),
      cmocka_unit_test(box_without_utf8),
      cmocka_unit_test(csv_follows_rfc_4180),
      cmocka_unit_test(tsv_has_one_line_per_row),
      cmocka_unit_test(json_is_one_array_of_objects),
      cmocka_unit_test(jsonl_is_an_object_per_line),
      cmocka_unit_test(markdown),
      cmocka_unit_test(line),
      cmocka_unit_test(wide_tables_wrap_their_texts_to_the_terminal),
      cmocka_unit_test(tables_too_wide_for_that_become_lines),
      cmocka_unit_test(a_growing_table_keeps_its_widths),
      cmocka_unit_test(empty_results_show_their_columns),
      cmocka_unit_test(json_alone_is_printed_bare),
      cmocka_unit_test(unknown_formats),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
