// The log: format, levels, one line an entry, rotation, and that nothing makes it wait.
#include "engine/base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace traind {
namespace {

constexpr int64_t kRoomy = 1 << 20;

int64_t Lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

void entries_are_lines(void**) {
  const testing::Scratch scratch;
  assert_ok(OpenLog("worker 7.1", scratch / "log", LogLevel::kInfo, kRoomy));
  Log(LogLevel::kInfo, "step {} of {}", 3, 10);
  Log(LogLevel::kWarning, "two\nlines and \x1b[31m colour\r");
  const std::string text = testing::ReadFile(scratch / "log");
  assert_int_equal(Lines(text), 2);
  assert_text(text.substr(text.find('Z')).substr(0, 34), "Z info worker 7.1: step 3 of 10\n20");
  assert_true(text.ends_with("Z warning worker 7.1: two\\nlines and \\x1b[31m colour\\x0d\n"));
  struct stat info {};
  assert_int_equal(stat((scratch / "log").c_str(), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
}

void braces_in_messages_are_text(void**) {
  const testing::Scratch scratch;
  assert_ok(OpenLog("t", scratch / "log", LogLevel::kInfo, kRoomy));
  LogLine(LogLevel::kInfo, "{} {0} {name} %v %n");
  assert_true(testing::ReadFile(scratch / "log").ends_with("t: {} {0} {name} %v %n\n"));
}

void lower_levels_are_left_out(void**) {
  const testing::Scratch scratch;
  assert_ok(OpenLog("t", scratch / "log", LogLevel::kWarning, kRoomy));
  LogLine(LogLevel::kDebug, "a");
  LogLine(LogLevel::kInfo, "b");
  LogLine(LogLevel::kWarning, "c");
  LogLine(LogLevel::kError, "d");
  assert_int_equal(Lines(testing::ReadFile(scratch / "log")), 2);
}

void the_file_is_rotated_at_its_size(void**) {
  const testing::Scratch scratch;
  assert_ok(OpenLog("t", scratch / "log", LogLevel::kInfo, 2000));
  for (int i = 0; i < 200; ++i) Log(LogLevel::kInfo, "entry {}", i);
  assert_true(std::filesystem::file_size(scratch / "log") <= 2000);
  assert_true(std::filesystem::file_size(scratch / "log.1") <= 2000);
  assert_true(testing::ReadFile(scratch / "log").ends_with("entry 199\n"));
  // Nothing is lost at the seam.
  const std::string both = testing::ReadFile(scratch / "log.1") + testing::ReadFile(scratch / "log");
  const auto count = Lines(both);
  for (int64_t i = 200 - count; i < 200; ++i) {
    assert_true(both.find("entry " + std::to_string(i) + "\n") != std::string::npos);
  }
}

void an_old_file_is_continued(void**) {
  const testing::Scratch scratch;
  testing::WriteFile(scratch / "log", "before\n");
  assert_ok(OpenLog("t", scratch / "log", LogLevel::kInfo, kRoomy));
  LogLine(LogLevel::kInfo, "after");
  const std::string text = testing::ReadFile(scratch / "log");
  assert_true(text.starts_with("before\n") && text.ends_with("after\n"));
}

void bad_places_are_refused(void**) {
  const testing::Scratch scratch;
  assert_code(OpenLog("t", scratch / "no/log", LogLevel::kInfo, kRoomy), ErrorCode::IO);
  assert_code(OpenLog("t", scratch.path(), LogLevel::kInfo, kRoomy), ErrorCode::IO);
  assert_int_equal(mkfifo((scratch / "fifo").c_str(), 0600), 0);
  assert_code(OpenLog("t", scratch / "fifo", LogLevel::kInfo, kRoomy), ErrorCode::IO);
  assert_code(OpenLog("t", "/dev/null", LogLevel::kInfo, kRoomy), ErrorCode::NOT_A_REGULAR_FILE);
  testing::WriteFile(scratch / "target", "");
  assert_int_equal(symlink((scratch / "target").c_str(), (scratch / "link").c_str()), 0);
  assert_code(OpenLog("t", scratch / "link", LogLevel::kInfo, kRoomy), ErrorCode::IO);
}

void the_descriptor_is_not_inherited(void**) {
  const testing::Scratch scratch;
  assert_ok(OpenLog("t", scratch / "log", LogLevel::kInfo, kRoomy));
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) != (scratch / "log")) continue;
    found = true;
    const int descriptor = std::stoi(entry.path().filename().string());
    assert_true((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
  }
  assert_true(found);
}

// stderr replaced by a pipe that nobody reads.
void a_full_pipe_drops_entries(void**) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const int saved = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  const Status status = OpenLog("t", "", LogLevel::kInfo, 0);
  const std::string long_text(100000, 'x');
  for (int i = 0; i < 1000; ++i) LogLine(LogLevel::kInfo, long_text);
  dup2(saved, STDERR_FILENO);
  close(saved);
  assert_ok(status);
  std::string first(4096, '\0');
  assert_int_equal(read(ends[0], first.data(), first.size()), 4096);
  assert_true(first.back() == '\n');
  close(ends[0]);
  close(ends[1]);
}

void threads_may_log_together(void**) {
  const testing::Scratch scratch;
  assert_ok(OpenLog("t", scratch / "log", LogLevel::kInfo, kRoomy));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) Log(LogLevel::kInfo, "thread {} entry {}", t, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  assert_int_equal(Lines(testing::ReadFile(scratch / "log")), 2000);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(entries_are_lines),
      cmocka_unit_test(braces_in_messages_are_text),
      cmocka_unit_test(lower_levels_are_left_out),
      cmocka_unit_test(the_file_is_rotated_at_its_size),
      cmocka_unit_test(an_old_file_is_continued),
      cmocka_unit_test(bad_places_are_refused),
      cmocka_unit_test(the_descriptor_is_not_inherited),
      cmocka_unit_test(a_full_pipe_drops_entries),
      cmocka_unit_test(threads_may_log_together),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
