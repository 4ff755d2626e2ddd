// traind's command line, and the memory that cgroups leave.
#include "daemon/options.h"

#include "daemon/free_memory.h"
#include "engine/base/io.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace traind::daemon {
namespace {

const Environment kEnvironment{"/home/u", "", "/some/dir"};

Result<Options> Parse(const std::vector<std::string>& arguments) {
  return ParseOptions(arguments, kEnvironment);
}

void the_default_is_the_users_own_directory(void**) {
  assert_text(Parse({})->state_directory, "/home/u/.local/state/traind");
  assert_text(ParseOptions({}, {"/home/u", "/x", "/"})->state_directory, "/x/traind");
  assert_text(ParseOptions({}, {"/home/u", "relative", "/"})->state_directory, "/home/u/.local/state/traind");
  assert_code(ParseOptions({}, {"", "", "/"}), ErrorCode::MISUSE);
}

void options_take_values_in_both_spellings(void**) {
  const auto options = Parse({"--state", "s", "--idle-exit=5m", "--log-level", "debug", "--foreground"});
  assert_ok(options);
  assert_text(options->state_directory, "/some/dir/s");
  assert_true(options->idle_exit_seconds == 300);
  assert_true(options->log_level == LogLevel::kDebug);
  assert_true(Parse({"--idle-exit", "12"})->idle_exit_seconds == 12);
}

void embedded_needs_its_socket(void**) {
  const auto options = Parse({"--embedded", "--socket-fd", "3", "--state", "/s"});
  assert_ok(options);
  assert_true(options->embedded);
  assert_int_equal(*options->socket_fd, 3);
  assert_code(Parse({"--embedded"}), ErrorCode::MISUSE);
  assert_code(Parse({"--socket-fd", "3"}), ErrorCode::MISUSE);
  assert_code(Parse({"--embedded", "--socket-fd", "1"}), ErrorCode::MISUSE);
  assert_code(Parse({"--embedded", "--socket-fd", "x"}), ErrorCode::MISUSE);
}

void wrong_arguments_are_named(void**) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--nonsense"},
                                                    {"DIR"},
                                                    {"--state"},
                                                    {"--state="},
                                                    {"--embedded=1"},
                                                    {"--log-level", "loud"},
                                                    {"--idle-exit", "-1"},
                                                    {"--idle-exit", "3GiB"},
                                                    {"--metrics-limit", "1KiB"},
                                                    {"--metrics-limit", "1048575B"},
                                                    {"--metrics-limit", "4h"},
                                                    {"--metrics-limit", "2000TiB"}}) {
    const auto options = Parse(arguments);
    assert_code(options, ErrorCode::MISUSE);
    assert_true(options.status().message().find(arguments[0].substr(0, arguments[0].find('='))) !=
                std::string::npos);
  }
}

void help_and_version_need_nothing(void**) {
  assert_true(ParseOptions({"--help"}, {"", "", "/"})->action == Options::Action::kHelp);
  assert_true(ParseOptions({"-h"}, {"", "", "/"})->action == Options::Action::kHelp);
  assert_true(ParseOptions({"--version"}, {"", "", "/"})->action == Options::Action::kVersion);
  assert_true(UsageText().find("--idle-exit TIME") != std::string::npos);
}

void the_tightest_cgroup_counts(void**) {
  const testing::Scratch scratch;
  const std::string meminfo = scratch / "meminfo";
  testing::WriteFile(meminfo, "MemTotal: 1000 kB\nMemAvailable:    1000 kB\n");
  const std::string root = scratch / "cgroup";
  assert_ok(PosixIo().MakeDirectories(root + "/a/b"));
  assert_int_equal(FreeMemoryBytes(meminfo, root, "0::/a/b\n"), 1024000);
  testing::WriteFile(root + "/a/memory.max", "500000\n");
  testing::WriteFile(root + "/a/memory.current", "300000\n");
  testing::WriteFile(root + "/a/memory.stat", "anon 1\ninactive_file 50000\n");
  testing::WriteFile(root + "/a/b/memory.max", "max\n");
  testing::WriteFile(root + "/a/b/memory.current", "1000\n");
  assert_int_equal(FreeMemoryBytes(meminfo, root, "12:cpu:/x\n0::/a/b\n"), 250000);
  testing::WriteFile(root + "/a/memory.current", "900000\n");
  assert_int_equal(FreeMemoryBytes(meminfo, root, "0::/a/b\n"), 0);
  assert_int_equal(FreeMemoryBytes(meminfo, root, "0::/\n"), 1024000);
  assert_int_equal(FreeMemoryBytes(meminfo, root, ""), 1024000);
  assert_true(FreeMemoryBytes() > 0);
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_default_is_the_users_own_directory),
      cmocka_unit_test(options_take_values_in_both_spellings),
      cmocka_unit_test(embedded_needs_its_socket),
      cmocka_unit_test(wrong_arguments_are_named),
      cmocka_unit_test(help_and_version_need_nothing),
      cmocka_unit_test(the_tightest_cgroup_counts),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
