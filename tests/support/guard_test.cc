// A test that is killed leaves no process behind, wherever that has gone.
#include "tests/support/guard.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace traind::testing {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// The mark of the run below this test's own: its environment has none, so that it makes one.
std::string MarkOf(pid_t pid) {
  const std::string environment = ReadFile("/proc/" + std::to_string(pid) + "/environ");
  const std::string name = std::string(kRunVariable) + "=";
  const size_t at = environment.find(name);
  return at == std::string::npos ? "" : std::string(environment.c_str() + at + name.size());
}

// Starts `guarded sh -c script` as a run of its own.
pid_t Start(const std::string& script) {
  std::array<char*, 5> arguments = {const_cast<char*>(GUARDED), const_cast<char*>("/bin/sh"),
                                    const_cast<char*>("-c"), const_cast<char*>(script.c_str()), nullptr};
  std::array<char*, 2> environment = {const_cast<char*>("PATH=/usr/bin:/bin"), nullptr};
  pid_t pid = -1;
  assert_int_equal(posix_spawn(&pid, GUARDED, nullptr, nullptr, arguments.data(), environment.data()), 0);
  return pid;
}

void what_a_killed_test_started_ends_with_it(void**) {
  const Scratch scratch;
  // One in a session of its own whose parent has gone, one that is stopped, one that is waited for.
  const pid_t pid =
      Start("setsid sleep 1000 & sleep 1000 & kill -STOP $!; : >" + scratch / "ready" + "; sleep 1000; true");
  assert_true(Eventually([&] { return access((scratch / "ready").c_str(), F_OK) == 0; }));
  const std::string mark = MarkOf(pid);
  assert_string_not_equal(mark.c_str(), "");
  assert_true(Eventually([&] { return ProcessesOfRun(mark).size() == 4; }));
  kill(pid, SIGKILL);
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFSIGNALED(status));
  assert_true(Eventually([&] { return ProcessesOfRun(mark).empty(); }));
}

void what_a_test_left_at_its_end_is_ended(void**) {
  const Scratch scratch;
  const pid_t pid =
      Start("setsid sleep 1000 & tr '\\0' '\\n' </proc/$$/environ | sed -n s/^TRAIND_TEST_RUN=//p >" +
            scratch / "mark" + "; exit 3");
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WEXITSTATUS(status), 3);
  std::string mark = ReadFile(scratch / "mark");
  assert_true(mark.size() > 1);
  mark.pop_back();
  assert_true(Eventually([&] { return ProcessesOfRun(mark).empty(); }));
}

void this_test_is_guarded(void**) {
  const char* mark = getenv(kRunVariable);
  assert_non_null(mark);
  bool found = false;
  for (const pid_t pid : ProcessesOfRun(mark)) found = found || pid == getpid();
  assert_true(found);
}

}  // namespace
}  // namespace traind::testing

int main() {
  using namespace traind::testing;
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_a_killed_test_started_ends_with_it),
      cmocka_unit_test(what_a_test_left_at_its_end_is_ended),
      cmocka_unit_test(this_test_is_guarded),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
