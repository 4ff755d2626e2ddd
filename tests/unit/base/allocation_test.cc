// Memory that runs out while JSON or frames are read and written: nothing leaks, whichever allocation fails.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "engine/base/frame.h"
#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "tests/support/failing_new.h"
#include "tests/support/test.h"

namespace traind {
namespace {

constexpr std::string_view kMessage =
    R"({"id":3,"op":"execute","text":"SELECT * FROM sys_jobs WHERE name = $a long enough to be allocated",)"
    R"("parameters":{"a":[1,2.5,null,true,{"quantity":"4h"}],"b":"a text that does not fit into the object"}})";

// In a process for each failure: the JSON library's destructors allocate, and an exception there is its end.
// A daemon that ends so is started again.
void AssertNoLeak(const std::function<void()>& work, int64_t least) {
  work();
  int64_t held = 0;
  for (int64_t number = 1;; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      if (freopen("/dev/null", "w", stderr) == nullptr) _exit(99);  // it may say why it ends
      _exit(static_cast<int>(testing::RunFailing(work, number)));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) {
      assert_int_equal(WTERMSIG(status), SIGABRT);
      continue;
    }
    if (WEXITSTATUS(status) == static_cast<int>(testing::Failed::kNot)) {
      assert_true(number > least);  // it did allocate
      break;
    }
    assert_int_equal(WEXITSTATUS(status), static_cast<int>(testing::Failed::kHeld));
    ++held;
  }
  assert_true(held > 0);
}

void reading_json(void**) {
  AssertNoLeak([] { (void)ParseJson(kMessage).ok(); }, 20);
  AssertNoLeak([] { (void)ParseJson(std::string(kMessage.substr(0, 150))).ok(); }, 10);  // broken off
  AssertNoLeak([] { (void)ParseJson(std::string(500, '[')).ok(); }, 5);
}

void writing_json(void**) {
  const Json json = *ParseJson(kMessage);
  AssertNoLeak([&] { (void)DumpJson(json).size(); }, 1);
  AssertNoLeak([&] { (void)Json(json).size(); }, 10);
}

void frames(void**) {
  const Json json = *ParseJson(kMessage);
  std::string stream;
  for (int i = 0; i < 3; ++i) AppendFrame(json, &stream);
  AssertNoLeak(
      [&] {
        FrameReader reader(kMaxFrameBytes);
        for (size_t at = 0; at < stream.size(); at += 100) {
          reader.Feed(std::string_view(stream).substr(at, 100));
          while (true) {
            const auto message = reader.Next();
            if (!message.ok() || !message->has_value()) break;
          }
        }
      },
      60);
  AssertNoLeak(
      [&] {
        std::string frame;
        AppendFrame(json, &frame);
      },
      1);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(reading_json),
      cmocka_unit_test(writing_json),
      cmocka_unit_test(frames),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
