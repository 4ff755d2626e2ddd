// Statements: preparing, binding, stepping, columns, errors; and a daemon that breaks off.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/capi/fixture.h"

namespace {

void rows_come_with_names_types_and_values(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("ROWS 2");
  assert_text(traind_stmt_kind(stmt), "ROWS");
  assert_int_equal(traind_column_count(stmt), 0);
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  assert_int_equal(traind_column_count(stmt), 6);
  assert_text(traind_column_name(stmt, 3), "size");
  assert_text(traind_column_declared(stmt, 3), "bytes");
  assert_null(traind_column_name(stmt, 6));
  int64_t number = 0;
  double real = 0;
  assert_int_equal(traind_column_int64(stmt, 0, &number), TRAIND_OK);
  assert_int_equal(number, 1);
  assert_int_equal(traind_column_double(stmt, 2, &real), TRAIND_OK);
  assert_true(real == 1.5);
  assert_text(Text(stmt, 1), "row 1");
  assert_text(Text(stmt, 5), "NULL");
  assert_int_equal(traind_column_type(stmt, 5), TRAIND_TYPE_NULL);
  assert_int_equal(traind_column_type(stmt, 2), TRAIND_TYPE_REAL);
  const char* text = nullptr;
  assert_int_equal(traind_column_display(stmt, 3, &text, nullptr), TRAIND_OK);
  assert_text(text, "1.50 MiB");
  assert_int_equal(traind_row_json(stmt, &text, nullptr), TRAIND_OK);
  assert_text(text, R"({"id": 1, "name": "row 1", "loss": 1.5, "size": 1572864, "age": 75, "note": null})");
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  assert_text(Text(stmt, 1), "row 2");
  assert_int_equal(traind_step(stmt), TRAIND_DONE);
  assert_int_equal(traind_column_count(stmt), 6);
  traind_stmt_free(stmt);
}

void order_of_calls_is_checked(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("ROWS 1");
  const char* text = "x";
  assert_int_equal(traind_column_text(stmt, 0, &text, nullptr), TRAIND_MISUSE);
  assert_null(text);
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  assert_int_equal(traind_column_text(stmt, 6, &text, nullptr), TRAIND_MISUSE);
  assert_int_equal(traind_column_text(stmt, -1, &text, nullptr), TRAIND_MISUSE);
  assert_int_equal(traind_bind_null(stmt, 1), TRAIND_MISUSE);
  assert_int_equal(traind_step(stmt), TRAIND_DONE);
  assert_int_equal(traind_step(stmt), TRAIND_MISUSE);
  assert_text(traind_errmsg(stmt), "the statement has ended");
  assert_text(traind_errmsg(f.conn), "the statement has ended");
  assert_int_equal(traind_column_text(stmt, 0, &text, nullptr), TRAIND_MISUSE);
  assert_int_equal(traind_reset(stmt), TRAIND_OK);
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  traind_stmt_free(stmt);
}

void parameters_are_bound_by_name_and_number(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("ECHO $name $steps $rate $none $size");
  assert_int_equal(traind_parameter_count(stmt), 5);
  assert_int_equal(traind_parameter_index(stmt, "$steps"), 2);
  assert_int_equal(traind_parameter_index(stmt, "rate"), 3);
  assert_int_equal(traind_parameter_index(stmt, "nobody"), 0);
  assert_text(traind_parameter_name(stmt, 1), "name");
  assert_null(traind_parameter_name(stmt, 6));
  assert_int_equal(traind_bind_text(stmt, 1, "ab\"c", 3), TRAIND_OK);
  assert_int_equal(traind_bind_int64(stmt, 2, INT64_MIN), TRAIND_OK);
  assert_int_equal(traind_bind_double(stmt, 3, 0.1), TRAIND_OK);
  assert_int_equal(traind_bind_null(stmt, 4), TRAIND_OK);
  assert_int_equal(traind_bind_quantity(stmt, 5, "4h", -1), TRAIND_OK);
  assert_int_equal(traind_bind_int64(stmt, 6, 1), TRAIND_MISUSE);
  assert_int_equal(traind_bind_int64(stmt, 0, 1), TRAIND_MISUSE);
  assert_int_equal(traind_bind_text(stmt, 1, nullptr, -1), TRAIND_MISUSE);
  std::string seen;
  while (traind_step(stmt) == TRAIND_ROW) seen += Text(stmt, 0) + "=" + Text(stmt, 1) + ";";
  assert_text(
      seen,
      "$name=\"ab\\\"\";$none=null;$rate=0.1;$size={\"quantity\":\"4h\"};$steps=-9223372036854775808;"
      "text=\"ECHO $name $steps $rate $none $size\";offset=0;line=1;column=1;check=false;progress=false;"
      "stop_on_paused=false;token=32;");
  assert_int_equal(traind_notice_count(stmt), 1);
  assert_text(traind_notice(stmt, 0), "a notice");
  assert_null(traind_notice(stmt, 1));
  traind_stmt_free(stmt);
}

void the_tail_leads_through_a_script(void**) {
  Fixture f;
  f.Open();
  const char* rest = "NOTHING 1; NOTHING ';' 2;\n ; NOTHING 3";
  std::string seen;
  while (*rest != '\0') {
    traind_stmt* stmt = nullptr;
    assert_int_equal(traind_prepare(f.conn, rest, -1, &stmt, &rest), TRAIND_OK);
    if (stmt != nullptr) seen += std::string(traind_stmt_text(stmt)) + "|";
    traind_stmt_free(stmt);
  }
  assert_text(seen, "NOTHING 1|NOTHING ';' 2|NOTHING 3|");
}

void a_script_gives_all_errors_and_its_good_statements(void**) {
  Fixture f;
  f.Open();
  traind_script* script = nullptr;
  assert_int_equal(traind_check(f.conn, "ECHO a;\nBAD;\n  ECHO b; WORSE 'x", -1, &script), TRAIND_OK);
  assert_int_equal(traind_script_error_count(script), 2);
  assert_int_equal(traind_script_statement_count(script), 4);
  assert_text(traind_script_open(script), "string");
  traind_error* error = nullptr;
  assert_int_equal(traind_script_error(script, 1, &error), TRAIND_OK);
  assert_text(traind_error_message(error), "unexpected WORSE");
  assert_int_equal(traind_error_line(error), 3);
  assert_int_equal(traind_error_column(error), 11);
  assert_int_equal(traind_error_offset(error), 23);
  assert_int_equal(traind_error_expected_count(error), 2);
  assert_text(traind_error_expected(error, 1), "ECHO");
  assert_text(traind_error_expected(error, 2), "");
  traind_error_free(error);
  int64_t begin = 0, end = 0;
  assert_int_equal(traind_script_statement(script, 2, &begin, &end), TRAIND_OK);
  assert_int_equal(begin, 15);
  assert_int_equal(end, 21);
  traind_stmt* stmt = nullptr;
  assert_int_equal(traind_script_prepare(script, 1, &stmt), TRAIND_SYNTAX);
  assert_int_equal(traind_script_prepare(script, 4, &stmt), TRAIND_MISUSE);
  assert_int_equal(traind_script_prepare(script, 2, &stmt), TRAIND_OK);
  traind_script_free(script);
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  assert_text(Text(stmt, 1), "\"ECHO b\"");
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  assert_text(Text(stmt, 1), "15");
  traind_stmt_free(stmt);
}

void a_run_time_error_has_all_its_parts(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("\n  FAIL NO_SUCH_MODEL");
  assert_int_equal(traind_step(stmt), TRAIND_NO_SUCH_MODEL);
  traind_error* error = nullptr;
  assert_int_equal(traind_error_get(stmt, &error), TRAIND_OK);
  assert_int_equal(traind_error_code(error), TRAIND_NO_SUCH_MODEL);
  assert_text(traind_error_class(error), "NAME");
  assert_text(traind_error_message(error), "it went wrong");
  assert_text(traind_error_hint(error), "do better");
  assert_int_equal(traind_error_retryable(error), 0);
  assert_int_equal(traind_error_line(error), 2);
  assert_int_equal(traind_error_column(error), 3);
  traind_error_free(error);
  assert_int_equal(traind_error_code(error), TRAIND_MISUSE);
  assert_text(traind_error_message(error), "");
  traind_stmt_free(stmt);
}

void an_interrupt_from_another_thread_ends_a_wait(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("HANG");
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  std::thread other([&] {
    usleep(50000);
    assert_int_equal(traind_interrupt(f.conn), TRAIND_OK);
  });
  assert_int_equal(traind_step(stmt), TRAIND_INTERRUPTED);
  other.join();
  traind_stmt_free(stmt);
  assert_int_equal(traind_interrupt(f.conn), TRAIND_OK);  // nothing runs: no effect on what comes later
  assert_int_equal(f.Run("ROWS 3"), TRAIND_DONE);
}

void a_second_thread_inside_is_misuse(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("HANG");
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  // Whichever thread is inside, the other is told so; the one that is to wait tries again.
  std::thread waiting([&] {
    int32_t code = TRAIND_MISUSE;
    while (code == TRAIND_MISUSE) code = traind_step(stmt);
    assert_int_equal(code, TRAIND_INTERRUPTED);
  });
  int64_t number = 0;
  while (traind_column_int64(stmt, 0, &number) != TRAIND_MISUSE) usleep(1000);
  assert_int_equal(traind_process(f.conn), TRAIND_MISUSE);
  assert_int_equal(traind_close(f.conn, nullptr), TRAIND_MISUSE);
  traind_stmt_free(stmt);  // refused as well: it is in use
  traind_interrupt(f.conn);
  waiting.join();
  assert_int_equal(traind_reset(stmt), TRAIND_OK);
  traind_stmt_free(stmt);
}

void a_statement_given_up_leaves_the_connection_usable(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("HANG");
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  traind_stmt* other = f.Prepare("ROWS 1");
  assert_int_equal(traind_step(other), TRAIND_ROW);
  traind_stmt_free(stmt);
  assert_int_equal(traind_step(other), TRAIND_DONE);
  assert_int_equal(traind_reset(other), TRAIND_OK);
  assert_int_equal(traind_step(other), TRAIND_ROW);
  traind_stmt_free(other);
  assert_int_equal(traind_step(stmt), TRAIND_MISUSE);
}

void statements_go_with_their_connection(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("HANG");
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  assert_int_equal(traind_close(f.conn, nullptr), TRAIND_OK);
  assert_int_equal(traind_step(stmt), TRAIND_MISUSE);
  assert_null(traind_stmt_kind(stmt));
  traind_stmt_free(stmt);
  f.conn = nullptr;
}

void a_daemon_that_breaks_off_is_told(void**) {
  const struct {
    const char* statement;
    int32_t code;
  } cases[] = {
      {"DIE", TRAIND_DAEMON_LOST}, {"GARBAGE", TRAIND_MALFORMED_FRAME}, {"MISFIT", TRAIND_MALFORMED_FRAME}};
  for (const auto& item : cases) {
    Fixture f;
    f.Open();
    traind_stmt* other = f.Prepare("HANG");
    assert_int_equal(traind_step(other), TRAIND_ROW);
    assert_int_equal(f.Run(item.statement), item.code);
    assert_int_equal(traind_step(other), item.code);  // what else ran ends too
    traind_stmt* stmt = nullptr;
    assert_int_equal(traind_prepare(f.conn, "ROWS 1", -1, &stmt, nullptr), item.code);
    assert_int_equal(traind_fd(f.conn), -1);
    traind_stmt_free(other);
  }
}

void texts_beyond_the_limit_are_refused_here(void**) {
  Fixture f;
  f.Open();
  std::string text = "ECHO '" + std::string(TRAIND_MAX_SCRIPT_BYTES, 'x') + "'";
  traind_stmt* stmt = nullptr;
  assert_int_equal(traind_prepare(f.conn, text.c_str(), -1, &stmt, nullptr), TRAIND_STATEMENT_TOO_LONG);
  stmt = f.Prepare("ECHO $name");
  std::string value(2000000, 'x');
  assert_int_equal(traind_bind_text(stmt, 1, value.c_str(), -1), TRAIND_OK);
  assert_int_equal(traind_step(stmt), TRAIND_FRAME_TOO_LARGE);
  traind_stmt_free(stmt);
  assert_int_equal(f.Run("ROWS 1"), TRAIND_DONE);
}

void editors_get_words(void**) {
  Fixture f;
  f.Open();
  traind_words* words = nullptr;
  assert_int_equal(traind_lex(f.conn, "ROWS  one", -1, &words), TRAIND_OK);
  assert_int_equal(traind_words_count(words), 2);
  int64_t begin = 0, end = 0;
  assert_int_equal(traind_words_place(words, 1, &begin, &end), TRAIND_OK);
  assert_int_equal(begin, 6);
  assert_int_equal(end, 9);
  assert_string_equal(traind_words_text(words, 1), "one");
  assert_string_equal(traind_words_kind(words, 0), "keyword");
  assert_string_equal(traind_words_kind(words, 1), "name");
  traind_words_free(words);
  assert_int_equal(traind_complete(f.conn, "ECHO MODEL niXX", 13, &words), TRAIND_OK);
  assert_int_equal(traind_words_count(words), 1);
  assert_string_equal(traind_words_text(words, 0), "nightly");
  assert_string_equal(traind_words_kind(words, 0), "model");
  assert_int_equal(traind_words_place(words, 0, &begin, &end), TRAIND_OK);
  assert_int_equal(begin, 11);
  assert_int_equal(end, 13);
  traind_words_free(words);
}

void execute_gives_everything_as_json(void**) {
  Fixture f;
  f.Open();
  traind_result* result = nullptr;
  assert_int_equal(traind_execute(f.conn, "ROWS 1; NOTHING", -1, nullptr, &result), TRAIND_OK);
  assert_text(
      traind_result_json(result, nullptr),
      R"([{"kind":"ROWS","columns":[{"name":"id","type":"integer"},{"name":"name","type":"text"},)"
      R"({"name":"loss","type":"real"},{"name":"size","type":"bytes"},{"name":"age","type":"seconds"},)"
      R"({"name":"note","type":"text"}],"rows":[[1,"row 1",1.5,1572864,75,null]],"notices":[]},)"
      "\n"
      R"({"kind":"NOTHING","columns":[],"rows":[],"notices":[]}])");
  traind_result_free(result);
  assert_null(traind_result_json(result, nullptr));
  assert_int_equal(traind_execute(f.conn, "NOTHING; FAIL ASSERTION_FAILED; ROWS 1", -1, "{}", &result),
                   TRAIND_ASSERTION_FAILED);
  assert_text(traind_result_json(result, nullptr),
              R"([{"kind":"NOTHING","columns":[],"rows":[],"notices":[]}])");
  traind_result_free(result);
  assert_int_equal(traind_execute(f.conn, "NOTHING; BAD", -1, nullptr, &result), TRAIND_SYNTAX);
  assert_null(result);
  assert_int_equal(traind_execute(f.conn, "NOTHING", -1, "[1]", &result), TRAIND_MISUSE);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(rows_come_with_names_types_and_values),
      cmocka_unit_test(order_of_calls_is_checked),
      cmocka_unit_test(parameters_are_bound_by_name_and_number),
      cmocka_unit_test(the_tail_leads_through_a_script),
      cmocka_unit_test(a_script_gives_all_errors_and_its_good_statements),
      cmocka_unit_test(a_run_time_error_has_all_its_parts),
      cmocka_unit_test(an_interrupt_from_another_thread_ends_a_wait),
      cmocka_unit_test(a_second_thread_inside_is_misuse),
      cmocka_unit_test(a_statement_given_up_leaves_the_connection_usable),
      cmocka_unit_test(statements_go_with_their_connection),
      cmocka_unit_test(a_daemon_that_breaks_off_is_told),
      cmocka_unit_test(texts_beyond_the_limit_are_refused_here),
      cmocka_unit_test(editors_get_words),
      cmocka_unit_test(execute_gives_everything_as_json),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
