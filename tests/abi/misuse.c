/*
 * Every function called wrongly, as a C program can: it answers with an error and goes on.
 * Argument: a daemon's program that speaks the protocol.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traind.h"

static int failures = 0;

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      ++failures;                                             \
    }                                                         \
  } while (0)
#define MISUSE(call) CHECK((call) == TRAIND_MISUSE)

/* What all functions do with handles that are none. */
static void check_handles(traind_config* config, traind_conn* conn, traind_script* script, traind_stmt* stmt,
                          traind_result* result, traind_event* event, traind_error* error,
                          traind_words* words) {
  char* message = NULL;
  const char* text = NULL;
  int64_t number = 0;
  double real = 0;
  int64_t begin = 0, end = 0;
  traind_conn* new_conn = NULL;
  traind_script* new_script = NULL;
  traind_stmt* new_stmt = NULL;
  traind_result* new_result = NULL;
  traind_event* new_event = NULL;
  traind_error* new_error = NULL;
  traind_words* new_words = NULL;

  MISUSE(traind_config_set(config, "client", "x"));
  traind_config_free(config);
  if (conn != NULL) MISUSE(traind_close(conn, &message));
  CHECK(message == NULL);
  CHECK(traind_conn_info(conn, "pid") == NULL);
  MISUSE(traind_interrupt(conn));
  CHECK(strcmp(traind_errmsg(conn), "") == 0);
  MISUSE(traind_error_get(conn, &new_error));
  MISUSE(traind_error_get(stmt, &new_error));
  MISUSE(traind_error_get(config, &new_error));
  MISUSE(traind_error_get(error, &new_error));
  CHECK(new_error == NULL);

  MISUSE(traind_error_code(error));
  CHECK(strcmp(traind_error_name(error), "") == 0 && strcmp(traind_error_class(error), "") == 0);
  CHECK(strcmp(traind_error_message(error), "") == 0 && strcmp(traind_error_hint(error), "") == 0);
  CHECK(strcmp(traind_error_detail(error), "") == 0 && strcmp(traind_error_expected(error, 0), "") == 0);
  CHECK(traind_error_retryable(error) == 0 && traind_error_offset(error) == 0 &&
        traind_error_line(error) == 0);
  CHECK(traind_error_column(error) == 0 && traind_error_expected_count(error) == 0);
  traind_error_free(error);

  MISUSE(traind_check(conn, "ROWS 1", -1, &new_script));
  CHECK(new_script == NULL);
  CHECK(traind_script_error_count(script) == 0 && traind_script_statement_count(script) == 0);
  MISUSE(traind_script_error(script, 0, &new_error));
  MISUSE(traind_script_statement(script, 0, &begin, &end));
  CHECK(strcmp(traind_script_open(script), "nothing") == 0);
  MISUSE(traind_script_prepare(script, 0, &new_stmt));
  traind_script_free(script);

  MISUSE(traind_prepare(conn, "ROWS 1", -1, &new_stmt, &text));
  CHECK(new_stmt == NULL);
  CHECK(traind_stmt_kind(stmt) == NULL && traind_stmt_text(stmt) == NULL);
  CHECK(traind_parameter_count(stmt) == 0 && traind_parameter_name(stmt, 1) == NULL);
  CHECK(traind_parameter_index(stmt, "x") == 0);
  MISUSE(traind_bind_text(stmt, 1, "x", -1));
  MISUSE(traind_bind_quantity(stmt, 1, "1h", -1));
  MISUSE(traind_bind_int64(stmt, 1, 1));
  MISUSE(traind_bind_double(stmt, 1, 1));
  MISUSE(traind_bind_null(stmt, 1));
  MISUSE(traind_clear_bindings(stmt));
  MISUSE(traind_stmt_set_token(stmt, "x"));
  MISUSE(traind_step(stmt));
  MISUSE(traind_step_nonblocking(stmt));
  MISUSE(traind_reset(stmt));
  CHECK(traind_notice_count(stmt) == 0 && traind_notice(stmt, 0) == NULL);
  CHECK(traind_column_count(stmt) == 0 && traind_column_name(stmt, 0) == NULL);
  CHECK(traind_column_declared(stmt, 0) == NULL && traind_column_type(stmt, 0) == TRAIND_TYPE_NULL);
  MISUSE(traind_column_int64(stmt, 0, &number));
  MISUSE(traind_column_double(stmt, 0, &real));
  MISUSE(traind_column_text(stmt, 0, &text, &number));
  MISUSE(traind_column_display(stmt, 0, &text, &number));
  MISUSE(traind_row_json(stmt, &text, &number));
  traind_stmt_free(stmt);

  MISUSE(traind_execute(conn, "ROWS 1", -1, NULL, &new_result));
  MISUSE(traind_lex(conn, "ROWS 1", -1, &new_words));
  MISUSE(traind_complete(conn, "ROWS 1", -1, &new_words));
  CHECK(new_words == NULL && traind_words_count(words) == 0);
  MISUSE(traind_words_place(words, 0, &begin, &end));
  CHECK(traind_words_text(words, 0) == NULL && traind_words_kind(words, 0) == NULL);
  traind_words_free(words);
  CHECK(traind_result_json(result, &number) == NULL && number == 0);
  traind_result_free(result);

  CHECK(traind_fd(conn) == -1 && traind_events_wanted(conn) == 0);
  MISUSE(traind_process(conn));
  MISUSE(traind_poll(conn, 0));
  MISUSE(traind_subscribe(conn, 0, NULL, &number));
  MISUSE(traind_unsubscribe(conn, 1));
  MISUSE(traind_next_event(conn, &new_event));
  CHECK(strcmp(traind_event_kind(event), "") == 0 && strcmp(traind_event_json(event), "") == 0);
  CHECK(traind_event_job(event) == 0 && traind_event_subscription(event) == 0);
  CHECK(traind_event_text(event, "state") == NULL);
  MISUSE(traind_event_number(event, "step", &real));
  traind_event_free(event);
  if (config != NULL) {
    MISUSE(traind_open("unix:/none", config, &new_conn));
    MISUSE(traind_close(NULL, NULL) == TRAIND_OK ? TRAIND_MISUSE : TRAIND_OK);
    CHECK(traind_close(new_conn, NULL) == TRAIND_OK);
  }
}

/* Live handles, and NULL for what must be given. */
static void check_arguments(traind_config* config, traind_conn* conn, traind_stmt* stmt) {
  const char* tail = NULL;
  traind_stmt* new_stmt = NULL;
  traind_script* new_script = NULL;
  traind_conn* new_conn = NULL;
  traind_result* new_result = NULL;
  traind_words* new_words = NULL;
  MISUSE(traind_config_new(NULL));
  MISUSE(traind_config_set(config, NULL, "x"));
  MISUSE(traind_config_set(config, "client", NULL));
  MISUSE(traind_open("", config, NULL));
  MISUSE(traind_open(NULL, config, &new_conn));
  CHECK(strcmp(traind_errmsg(new_conn), "the address is NULL") == 0);
  CHECK(traind_close(new_conn, NULL) == TRAIND_OK);
  MISUSE(traind_open("", (traind_config*)(void*)conn, &new_conn));
  CHECK(traind_close(new_conn, NULL) == TRAIND_OK);
  MISUSE(traind_error_get(conn, NULL));
  MISUSE(traind_prepare(conn, NULL, -1, &new_stmt, &tail));
  MISUSE(traind_prepare(conn, "ROWS 1", -2, &new_stmt, &tail));
  MISUSE(traind_prepare(conn, "ROWS 1", -1, NULL, &tail));
  MISUSE(traind_check(conn, NULL, -1, &new_script));
  MISUSE(traind_check(conn, "ROWS 1", -1, NULL));
  MISUSE(traind_lex(conn, NULL, -1, &new_words));
  MISUSE(traind_complete(conn, "ROWS", -1, NULL));
  MISUSE(traind_execute(conn, NULL, -1, NULL, &new_result));
  MISUSE(traind_execute(conn, "ROWS 1", -1, "no json", &new_result));
  MISUSE(traind_execute(conn, "ROWS 1", -1, NULL, NULL));
  MISUSE(traind_bind_int64(stmt, 1, 1)); /* it has no parameter */
  CHECK(traind_parameter_index(stmt, NULL) == 0);
  MISUSE(traind_column_int64(stmt, 0, NULL));
  MISUSE(traind_column_text(stmt, 0, NULL, NULL));
  MISUSE(traind_next_event(conn, NULL));
  CHECK(traind_conn_info(conn, NULL) == NULL);
  /* A handle of another type. */
  MISUSE(traind_step((traind_stmt*)(void*)conn));
  MISUSE(traind_interrupt((traind_conn*)(void*)stmt));
  MISUSE(traind_close((traind_conn*)(void*)stmt, NULL));
  CHECK(traind_step(stmt) == TRAIND_ROW);
}

int main(int count, char** arguments) {
  char state[] = "/tmp/traind-abi-XXXXXX";
  char address[64];
  traind_config* config = NULL;
  traind_conn* conn = NULL;
  traind_script* script = NULL;
  traind_stmt* stmt = NULL;
  traind_result* result = NULL;
  traind_error* error = NULL;
  traind_words* words = NULL;
  int local = 0;

  if (count != 2 || mkdtemp(state) == NULL) return 2;
  snprintf(address, sizeof address, "embed:%s", state);
  check_handles(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  check_handles((traind_config*)(void*)&local, (traind_conn*)(void*)&local, (traind_script*)(void*)&local,
                (traind_stmt*)(void*)&local, (traind_result*)(void*)&local, (traind_event*)(void*)&local,
                (traind_error*)(void*)&local, (traind_words*)(void*)&local);

  CHECK(traind_config_new(&config) == TRAIND_OK);
  CHECK(traind_config_set(config, "traind", arguments[1]) == TRAIND_OK);
  CHECK(traind_open(address, config, &conn) == TRAIND_OK);
  CHECK(traind_check(conn, "ROWS 1", -1, &script) == TRAIND_OK);
  CHECK(traind_prepare(conn, "ROWS 1", -1, &stmt, NULL) == TRAIND_OK);
  CHECK(traind_execute(conn, "ROWS 1", -1, NULL, &result) == TRAIND_OK);
  CHECK(traind_lex(conn, "ROWS 1", -1, &words) == TRAIND_OK && traind_words_count(words) == 2);
  MISUSE(traind_words_place(words, 2, NULL, NULL));
  CHECK(traind_words_place(words, 1, NULL, NULL) == TRAIND_OK);
  CHECK(traind_words_text(words, -1) == NULL && traind_words_kind(words, 2) == NULL);
  check_arguments(config, conn, stmt);
  CHECK(traind_config_set(config, "nonsense", "x") == TRAIND_UNKNOWN_OPTION);
  CHECK(traind_error_get(config, &error) == TRAIND_OK && error != NULL);

  traind_script_free(script);
  traind_stmt_free(stmt);
  traind_result_free(result);
  traind_error_free(error);
  traind_words_free(words);
  traind_config_free(config);
  CHECK(traind_close(conn, NULL) == TRAIND_OK);
  check_handles(config, conn, script, stmt, result, NULL, error, words);
  traind_free(NULL);
  if (failures != 0) fprintf(stderr, "%d failures\n", failures);
  snprintf(address, sizeof address, "rm -rf %s", state);
  return system(address) == 0 && failures == 0 ? 0 : 1;
}
