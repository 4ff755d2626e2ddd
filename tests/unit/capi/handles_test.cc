// Handles tell freed from live, and hold objects in place.
#include "capi/handles.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "tests/support/test.h"

using namespace traind::capi;

namespace {

struct Counted : Object {
  explicit Counted(int* live) : live_(live) { ++*live_; }
  ~Counted() override { --*live_; }
  int* live_;
};

void finds_only_live_handles_of_the_kind(void**) {
  int live = 0;
  void* handle = Register(Kind::kStatement, std::make_unique<Counted>(&live));
  assert_non_null(handle);
  assert_true(KindOf(handle) == Kind::kStatement);
  assert_true(static_cast<bool>(Find(Kind::kStatement, handle)));
  assert_false(static_cast<bool>(Find(Kind::kConnection, handle)));
  assert_false(static_cast<bool>(Find(Kind::kStatement, nullptr)));
  assert_true(Release(Kind::kConnection, handle) == nullptr);
  assert_true(Release(Kind::kStatement, handle) != nullptr);
  assert_int_equal(live, 0);
  assert_false(static_cast<bool>(Find(Kind::kStatement, handle)));
  assert_true(Release(Kind::kStatement, handle) == nullptr);
}

void never_takes_a_freed_handle_for_a_newer_one(void**) {
  int live = 0;
  std::set<void*> past;
  for (int i = 0; i < 5000; ++i) {
    void* handle = Register(Kind::kError, std::make_unique<Counted>(&live));
    assert_true(past.insert(handle).second);
    Release(Kind::kError, handle);
  }
  for (void* handle : past) assert_false(static_cast<bool>(Find(Kind::kError, handle)));
}

void refuses_what_was_never_a_handle(void**) {
  int on_the_stack = 0;
  assert_false(static_cast<bool>(Find(KindOf(&on_the_stack), &on_the_stack)));
  for (uintptr_t value = 1; value != 0; value <<= 1) {
    for (uintptr_t kind = 1; kind < 8; ++kind) {
      const void* handle = reinterpret_cast<const void*>(value | kind);
      assert_false(static_cast<bool>(Find(static_cast<Kind>(kind), handle)));
    }
  }
}

void interrupt_writes_to_the_wake_descriptor_until_it_is_taken_back(void**) {
  int live = 0;
  int wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  void* handle = Register(Kind::kConnection, std::make_unique<Counted>(&live));
  uint64_t count = 0;
  assert_true(Interrupt(handle));
  assert_int_equal(read(wake, &count, sizeof count), -1);
  SetWake(handle, wake);
  assert_true(Interrupt(handle));
  assert_int_equal(read(wake, &count, sizeof count), sizeof count);
  Release(Kind::kConnection, handle);
  assert_false(Interrupt(handle));
  assert_int_equal(read(wake, &count, sizeof count), -1);
  close(wake);
}

void release_waits_for_pins_of_other_threads(void**) {
  int live = 0;
  for (int round = 0; round < 200; ++round) {
    void* handle = Register(Kind::kResult, std::make_unique<Counted>(&live));
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([handle] {
        while (true) {
          Pin pin = Find(Kind::kResult, handle);
          if (!pin) return;
          if (*static_cast<Counted*>(pin.object())->live_ != 1) abort();
        }
      });
    }
    Release(Kind::kResult, handle);
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(live, 0);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(finds_only_live_handles_of_the_kind),
      cmocka_unit_test(never_takes_a_freed_handle_for_a_newer_one),
      cmocka_unit_test(refuses_what_was_never_a_handle),
      cmocka_unit_test(interrupt_writes_to_the_wake_descriptor_until_it_is_taken_back),
      cmocka_unit_test(release_waits_for_pins_of_other_threads),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
