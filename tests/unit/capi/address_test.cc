// Addresses, the default directory, connection options.
#include "capi/address.h"

#include <cstdlib>

#include "capi/config.h"
#include "tests/support/test.h"

using namespace traind;
using namespace traind::capi;

namespace {

void reads_the_three_forms(void**) {
  setenv("XDG_STATE_HOME", "/x", 1);
  Result<Address> own = ParseAddress("", "/cwd");
  assert_ok(own);
  assert_text(own->path, "/x/traind/traind.sock");
  assert_true(own->is_default);
  Result<Address> socket = ParseAddress("unix:s.sock", "/cwd");
  assert_ok(socket);
  assert_text(socket->path, "/cwd/s.sock");
  assert_false(socket->is_default);
  Result<Address> embed = ParseAddress("embed:/abs", "/cwd");
  assert_ok(embed);
  assert_text(embed->path, "/abs");
  assert_true(embed->mode == Address::Mode::kEmbed);
}

void refuses_others(void**) {
  for (const char* text : {"embed:", "unix:", "tcp:1", "/path"}) {
    assert_code(ParseAddress(text, "/cwd"), ErrorCode::INVALID_OPTION);
  }
}

void checks_the_length_of_socket_paths(void**) {
  assert_ok(ParseAddress("unix:/" + std::string(106, 's'), "/"));
  assert_code(ParseAddress("unix:/" + std::string(107, 's'), "/"), ErrorCode::DAEMON_UNREACHABLE);
}

void finds_the_state_directory(void**) {
  setenv("HOME", "/home/me", 1);
  unsetenv("XDG_STATE_HOME");
  assert_text(*DefaultStateDirectory(), "/home/me/.local/state/traind");
  setenv("XDG_STATE_HOME", "not/absolute", 1);
  assert_text(*DefaultStateDirectory(), "/home/me/.local/state/traind");
}

void finds_the_program(void**) {
  setenv("PATH", "/nowhere:/usr/bin", 1);
  unsetenv("TRAIND_BIN");
  Result<std::string> configured = FindDaemonProgram("/some/traind");
  assert_text(*configured, "/some/traind");
  setenv("TRAIND_BIN", "/bin/true", 1);
  assert_text(*FindDaemonProgram(""), "/bin/true");
}

void options_name_the_nearest_key_and_the_form(void**) {
  Config config;
  assert_ok(SetOption("open_timeout", "1m", &config));
  assert_true(config.open_timeout_seconds == 60);
  assert_ok(SetOption("progress", "on", &config));
  assert_true(config.progress);
  Status unknown = SetOption("opentimeout", "1m", &config);
  assert_code(unknown, ErrorCode::UNKNOWN_OPTION);
  assert_text(unknown.hint(), "did you mean open_timeout?");
  const char* wrong[][2] = {{"progress", "yes"},  {"open_timeout", "5"}, {"open_timeout", "-1s"},
                            {"directory", "a/b"}, {"client", ""},        {"open_timeout", "2d"}};
  for (const auto& [key, value] : wrong) {
    assert_code(SetOption(key, value, &config), ErrorCode::INVALID_OPTION);
  }
  assert_true(config.progress);
  assert_true(config.open_timeout_seconds == 60);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_three_forms),
      cmocka_unit_test(refuses_others),
      cmocka_unit_test(checks_the_length_of_socket_paths),
      cmocka_unit_test(finds_the_state_directory),
      cmocka_unit_test(finds_the_program),
      cmocka_unit_test(options_name_the_nearest_key_and_the_form),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
