// traind --install and --uninstall with a crontab that is a file, and the notice that asks for them.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/statements/reboot_notice.h"
#include "tests/support/test.h"

using namespace traind;
using namespace traind::daemon;

namespace {

struct Machine {
  std::string directory;

  Machine() {
    std::string pattern = (std::filesystem::temp_directory_path() / "traind-install-XXXXXX").string();
    directory = mkdtemp(pattern.data());
    Program("systemctl", "exit 1");
    Program("crontab", "t=" + directory + "/table; case $1 in -l) cat $t 2>/dev/null ;; -) cat >$t ;; esac");
    unsetenv("NOTIFY_SOCKET");
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { std::filesystem::remove_all(directory); }

  void Program(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(directory + "/bin");
    std::string path = directory + "/bin/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  int Run(const std::string& arguments) const {
    std::string command = "HOME=" + directory + " XDG_STATE_HOME=" + directory + " PATH=" + directory +
                          "/bin:$PATH " + TRAIND " " + arguments + " >" + directory + "/out 2>&1";
    return WEXITSTATUS(system(command.c_str()));
  }
  std::string Slurp(const std::string& name) const {
    std::ifstream file(directory + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string state() const { return directory + "/traind"; }
};

void the_crontab_line_comes_and_goes(void**) {
  Machine machine;
  std::ofstream(machine.directory + "/table") << "0 1 * * * true\n";
  assert_int_equal(machine.Run("--install"), 0);
  std::string line = "@reboot \"" TRAIND "\" --state \"" + machine.state() + "\" # traind --install\n";
  assert_text(machine.Slurp("table"), "0 1 * * * true\n" + line);
  assert_true(machine.Slurp("out").starts_with("installed in your crontab: @reboot"));
  assert_int_equal(machine.Run("--install"), 0);  // once, however often
  assert_text(machine.Slurp("table"), "0 1 * * * true\n" + line);
  assert_false(TakeRebootNotice(PosixIo(), machine.state()).has_value());
  assert_int_equal(machine.Run("--uninstall"), 0);
  assert_text(machine.Slurp("table"), "0 1 * * * true\n");
  assert_true(TakeRebootNotice(PosixIo(), machine.state()).has_value());
  assert_int_equal(machine.Run("--uninstall"), 0);
  assert_text(machine.Slurp("out"), "nothing was installed\n");
}

void a_refused_crontab_is_an_error_and_leaves_no_mark(void**) {
  Machine machine;
  machine.Program("crontab", "exit 1");
  assert_int_equal(machine.Run("--install"), 3);
  assert_false(std::filesystem::exists(machine.state() + "/installed"));
}

void a_service_manager_gets_a_unit(void**) {
  Machine machine;
  machine.Program("systemctl", "echo \"$@\" >>" + machine.directory + "/calls");
  machine.Program("loginctl", "exit 0");
  assert_int_equal(machine.Run("--install"), 0);
  std::string unit = machine.Slurp(".config/systemd/user/traind.service");
  assert_true(unit.find("ExecStart=\"" TRAIND "\" --state \"" + machine.state() + "\"\n") !=
              std::string::npos);
  assert_true(machine.Slurp("calls").find("--user enable --now traind.service") != std::string::npos);
  assert_int_equal(machine.Run("--uninstall"), 0);
  assert_false(std::filesystem::exists(machine.directory + "/.config/systemd/user/traind.service"));
}

void the_notice_is_given_once(void**) {
  Machine machine;
  std::filesystem::create_directories(machine.state());
  setenv("NOTIFY_SOCKET", "/run/x", 1);
  assert_false(TakeRebootNotice(PosixIo(), machine.state()).has_value());
  unsetenv("NOTIFY_SOCKET");
  auto notice = TakeRebootNotice(PosixIo(), machine.state());
  assert_true(notice.has_value());
  assert_true(notice->find("traind --install") != std::string::npos);
  assert_false(TakeRebootNotice(PosixIo(), machine.state()).has_value());
  assert_false(TakeRebootNotice(PosixIo(), machine.directory + "/missing").has_value());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_crontab_line_comes_and_goes),
      cmocka_unit_test(a_refused_crontab_is_an_error_and_leaves_no_mark),
      cmocka_unit_test(a_service_manager_gets_a_unit),
      cmocka_unit_test(the_notice_is_given_once),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
