// A client's event queue: order, its limit, what is dropped.
#include "daemon/stream/event_queue.h"

#include "tests/support/test.h"

namespace traind::daemon {
namespace {

void events_leave_in_order(void**) {
  EventQueue queue(10000);
  for (const char* text : {"a", "b", "c", "d"}) assert_true(queue.Push(text, text[0] == 'b'));
  assert_text(queue.Take(2), "ab");
  assert_text(queue.Take(1000), "cd");
  assert_true(queue.empty());
  assert_int_equal(queue.bytes(), 0);
  assert_int_equal(queue.dropped(), 0);
}

void an_event_larger_than_a_batch_still_leaves(void**) {
  EventQueue queue(10000);
  assert_true(queue.Push(std::string(500, 'x'), false));
  assert_int_equal(queue.Take(10).size(), 500);
}

void the_oldest_droppable_goes_first(void**) {
  EventQueue queue(2000);
  assert_true(queue.Push("state", false));
  for (int i = 0; i < 100; ++i)
    assert_true(queue.Push(std::string(90, static_cast<char>('0' + i % 10)), true));
  assert_true(queue.dropped() > 80);
  assert_true(queue.bytes() <= 2000);
  const std::string left = queue.Take(100000);
  assert_true(left.starts_with("state"));
  assert_true(left.ends_with(std::string(90, '9')));
}

void what_may_not_be_dropped_ends_it(void**) {
  EventQueue queue(2000);
  bool fits = true;
  int pushed = 0;
  while (fits && pushed < 1000) {
    fits = queue.Push(std::string(90, 's'), false);
    ++pushed;
  }
  assert_false(fits);
  assert_in_range(pushed, 10, 22);
  queue.Clear();
  assert_true(queue.empty());
  assert_true(queue.Push("again", true));
}

void the_limit_is_exact(void**) {
  EventQueue queue(1000);
  assert_true(queue.Push("", false));
  const size_t overhead = queue.bytes();
  queue.Clear();
  assert_true(queue.Push(std::string(1000 - overhead, 'x'), false));
  queue.Clear();
  assert_false(queue.Push(std::string(1001 - overhead, 'x'), false));
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(events_leave_in_order),
      cmocka_unit_test(an_event_larger_than_a_batch_still_leaves),
      cmocka_unit_test(the_oldest_droppable_goes_first),
      cmocka_unit_test(what_may_not_be_dropped_ends_it),
      cmocka_unit_test(the_limit_is_exact),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
