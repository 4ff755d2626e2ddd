// Events and the calls that never wait.
#include <poll.h>

#include "tests/unit/capi/fixture.h"

namespace {

traind_event* Next(traind_conn* conn) {
  traind_event* event = nullptr;
  assert_int_equal(traind_next_event(conn, &event), TRAIND_OK);
  return event;
}

void stepping_without_waiting(void**) {
  Fixture f;
  f.Open();
  traind_stmt* stmt = f.Prepare("ROWS 2");
  int rows = 0, again = 0;
  while (true) {
    int32_t code = traind_step_nonblocking(stmt);
    if (code == TRAIND_DONE) break;
    if (code == TRAIND_ROW) ++rows;
    if (code != TRAIND_AGAIN) continue;
    ++again;
    assert_int_equal(traind_events_wanted(f.conn), TRAIND_POLL_IN);
    pollfd entry{traind_fd(f.conn), POLLIN, 0};
    assert_int_equal(poll(&entry, 1, 5000), 1);
    assert_int_equal(traind_process(f.conn), TRAIND_OK);
  }
  assert_int_equal(rows, 2);
  assert_true(again < 100);  // none at all where the answer was quicker than the first step
  traind_stmt_free(stmt);
}

void progress_of_a_waiting_statement(void**) {
  Fixture f;
  assert_int_equal(traind_config_set(f.config, "progress", "on"), TRAIND_OK);
  f.Open();
  traind_stmt* stmt = f.Prepare("HANG");
  assert_int_equal(traind_step(stmt), TRAIND_ROW);
  assert_int_equal(traind_step_nonblocking(stmt), TRAIND_AGAIN);
  traind_event* event = nullptr;
  while ((event = Next(f.conn)) == nullptr) assert_int_equal(traind_poll(f.conn, 1000), TRAIND_OK);
  assert_text(traind_event_kind(event), "progress");
  assert_int_equal(traind_event_job(event), 7);
  assert_text(traind_event_text(event, "state"), "RUNNING");
  assert_null(traind_event_text(event, "step"));
  double loss = 0;
  assert_int_equal(traind_event_number(event, "loss", &loss), TRAIND_OK);
  assert_true(loss == 2.5);
  assert_int_equal(traind_event_number(event, "state", &loss), TRAIND_MISUSE);
  assert_non_null(strstr(traind_event_json(event), "\"total_steps\":100"));
  traind_event_free(event);
  assert_text(traind_event_kind(event), "");
  traind_interrupt(f.conn);
  assert_int_equal(traind_step(stmt), TRAIND_INTERRUPTED);
  traind_stmt_free(stmt);
}

void only_the_newest_progress_of_a_job_waits(void**) {
  Fixture f;
  f.Open();
  assert_int_equal(f.Run("JOB"), TRAIND_DONE);
  traind_event* event = Next(f.conn);
  assert_text(traind_event_text(event, "state"), "SUCCEEDED");
  traind_event_free(event);
  assert_null(Next(f.conn));
}

void subscriptions(void**) {
  Fixture f;
  f.Open();
  int64_t subscription = 0;
  assert_int_equal(traind_subscribe(f.conn, 0, "state,metrics", &subscription), TRAIND_INVALID_OPTION);
  assert_int_equal(traind_subscribe(f.conn, -1, nullptr, &subscription), TRAIND_MISUSE);
  assert_int_equal(traind_subscribe(f.conn, 0, "state, metric", &subscription), TRAIND_OK);
  assert_true(subscription > 0);
  assert_int_equal(f.Run("EVENT"), TRAIND_DONE);
  traind_event* event = Next(f.conn);
  assert_text(traind_event_kind(event), "state");
  assert_int_equal(traind_event_job(event), 7);
  assert_int_equal(traind_event_subscription(event), subscription);
  traind_event_free(event);
  assert_int_equal(traind_unsubscribe(f.conn, subscription), TRAIND_OK);
  assert_int_equal(f.Run("EVENT"), TRAIND_DONE);
  assert_null(Next(f.conn));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(stepping_without_waiting),
      cmocka_unit_test(progress_of_a_waiting_statement),
      cmocka_unit_test(only_the_newest_progress_of_a_job_waits),
      cmocka_unit_test(subscriptions),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
