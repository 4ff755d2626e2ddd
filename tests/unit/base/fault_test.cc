// Fault points: arming, counting, and each of the three ends.
#include "engine/base/fault.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace traind {
namespace {

// The wait status of a child that runs `body` and then exits with 7.
int RunChild(const std::function<void()>& body, int wait_flags = 0) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, wait_flags);
  if (WIFSTOPPED(status)) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return status;
}

int disarm(void**) {
  unsetenv("TRAIND_FAULT_ONCE");
  return ArmFaultPoint("").ok() ? 0 : 1;
}

void the_table_names_each_point(void**) {
  size_t index = 0;
  for (const FaultInfo& info : AllFaultPoints()) {
    assert_int_equal(static_cast<size_t>(info.point), index);
    assert_false(info.name.empty() || info.text.empty());
    ++index;
  }
  assert_true(index > 0);
}

void unarmed_points_pass(void**) {
  for (const FaultInfo& info : AllFaultPoints()) assert_ok(PassFaultPoint(info.point));
}

void an_error_comes_at_its_pass_only(void**) {
  assert_ok(ArmFaultPoint("worker_step:3=error"));
  assert_ok(PassFaultPoint(FaultPoint::worker_step));
  assert_ok(PassFaultPoint(FaultPoint::worker_start));
  assert_ok(PassFaultPoint(FaultPoint::worker_step));
  assert_code(PassFaultPoint(FaultPoint::worker_step), ErrorCode::IO);
  assert_ok(PassFaultPoint(FaultPoint::worker_step));
}

void every_point_can_be_armed(void**) {
  for (const FaultInfo& info : AllFaultPoints()) {
    assert_ok(ArmFaultPoint(std::string(info.name) + "=error"));
    assert_code(PassFaultPoint(info.point), ErrorCode::IO);
  }
}

void the_default_kills(void**) {
  const int status = RunChild([] {
    static_cast<void>(ArmFaultPoint("worker_step:2"));
    static_cast<void>(PassFaultPoint(FaultPoint::worker_step));
    static_cast<void>(PassFaultPoint(FaultPoint::worker_step));
  });
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void stop_stops(void**) {
  const int status = RunChild(
      [] {
        static_cast<void>(ArmFaultPoint("worker_step=stop"));
        static_cast<void>(PassFaultPoint(FaultPoint::worker_step));
      },
      WUNTRACED);
  assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
}

void once_spares_the_second_process(void**) {
  const testing::Scratch scratch;
  setenv("TRAIND_FAULT_ONCE", (scratch / "fired").c_str(), 1);
  const auto body = [] {
    static_cast<void>(ArmFaultPoint("worker_step=kill"));
    static_cast<void>(PassFaultPoint(FaultPoint::worker_step));
  };
  assert_true(WIFSIGNALED(RunChild(body)));
  const int second = RunChild(body);
  assert_true(WIFEXITED(second) && WEXITSTATUS(second) == 7);
}

void bad_specifications_are_refused(void**) {
  for (const char* text : {"nothing", "worker_step:", "worker_step:0", "worker_step:-1", "worker_step:x",
                           "worker_step:1x", "worker_step=", "worker_step=explode", "=kill", ":1"}) {
    assert_code(ArmFaultPoint(text), ErrorCode::INVALID_OPTION);
  }
}

// This program again, as a child that only passes one point: the environment is read once a process.
int RunWithEnvironment(const char* fault) {
  return RunChild([fault] {
    setenv("TRAIND_FAULT", fault, 1);
    execl("/proc/self/exe", "fault_test", "--pass", static_cast<char*>(nullptr));
  });
}

void the_environment_arms(void**) {
  int status = RunWithEnvironment("worker_step=error");
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  status = RunWithEnvironment("worker_step");
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  status = RunWithEnvironment("worker_start");
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  status = RunWithEnvironment("");
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void a_bad_environment_ends_the_process(void**) {
  const int status = RunWithEnvironment("no_such_point");
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

}  // namespace
}  // namespace traind

int main(int argument_count, char** arguments) {
  using namespace traind;
  if (argument_count == 2 && std::string(arguments[1]) == "--pass") {
    return PassFaultPoint(FaultPoint::worker_step).ok() ? 0 : 1;
  }
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_table_names_each_point),
      cmocka_unit_test_teardown(unarmed_points_pass, disarm),
      cmocka_unit_test_teardown(an_error_comes_at_its_pass_only, disarm),
      cmocka_unit_test_teardown(every_point_can_be_armed, disarm),
      cmocka_unit_test(the_default_kills),
      cmocka_unit_test(stop_stops),
      cmocka_unit_test_teardown(once_spares_the_second_process, disarm),
      cmocka_unit_test_teardown(bad_specifications_are_refused, disarm),
      cmocka_unit_test(the_environment_arms),
      cmocka_unit_test(a_bad_environment_ends_the_process),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
