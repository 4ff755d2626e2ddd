// traind.h's constants are those of the tables, all of them, and nothing else.
#include <cctype>
#include <fstream>
#include <map>
#include <regex>

#include "capi/traind.h"
#include "engine/base/error.h"
#include "engine/base/limits.h"
#include "tests/support/test.h"

namespace {

// The header's #defines with a number.
std::map<std::string, int64_t> Defines() {
  std::map<std::string, int64_t> defines;
  std::ifstream header(std::string(std::getenv("TRAIND_SOURCE")) + "/capi/traind.h");
  std::regex define("#define TRAIND_([A-Z0-9_]+) +([0-9]+)\\b.*");
  std::smatch match;
  for (std::string line; std::getline(header, line);) {
    if (std::regex_match(line, match, define)) defines[match[1]] = std::stoll(match[2]);
  }
  return defines;
}

void every_error_has_its_constant(void**) {
  std::map<std::string, int64_t> defines = Defines();
  for (const traind::ErrorInfo& error : traind::AllErrors()) {
    auto found = defines.find(std::string(error.name));
    if (found == defines.end()) fprintf(stderr, "traind.h lacks TRAIND_%s\n", error.name.data());
    assert_true(found != defines.end());
    assert_int_equal(found->second, static_cast<int32_t>(error.code));
  }
  for (const auto& [name, value] : defines) {
    if (value < 100 || value >= 1000 || name.starts_with("EXIT_")) continue;
    if (traind::FindError(name) == nullptr) fprintf(stderr, "TRAIND_%s is in no table\n", name.c_str());
    assert_non_null(traind::FindError(name));
  }
}

void codes_have_names_texts_and_exit_codes(void**) {
  for (const traind::ErrorInfo& error : traind::AllErrors()) {
    auto code = static_cast<int32_t>(error.code);
    assert_text(traind_errname(code), std::string(error.name));
    assert_text(traind_errstr(code), std::string(error.text));
    assert_int_equal(traind_exit_code(code), error.exit_code);
  }
  for (int32_t code : {TRAIND_OK, TRAIND_ROW, TRAIND_DONE, TRAIND_AGAIN}) {
    assert_int_equal(traind_exit_code(code), TRAIND_EXIT_OK);
    assert_string_not_equal(traind_errname(code), "UNKNOWN");
  }
  assert_text(traind_errname(-5), "UNKNOWN");
  assert_int_equal(traind_exit_code(99999), TRAIND_EXIT_FAILED);
}

void exit_codes_are_the_shells(void**) {
  const struct {
    int32_t error, exit_code;
  } cases[] = {{TRAIND_NO_SUCH_MODEL, TRAIND_EXIT_FAILED},
               {TRAIND_DAEMON_LOST, TRAIND_EXIT_UNREACHABLE},
               {TRAIND_SYNTAX, TRAIND_EXIT_SYNTAX},
               {TRAIND_JOB_FAILED, TRAIND_EXIT_JOB_FAILED},
               {TRAIND_JOB_CANCELLED, TRAIND_EXIT_JOB_CANCELLED},
               {TRAIND_BUDGET_EXCEEDED, TRAIND_EXIT_BUDGET_EXCEEDED},
               {TRAIND_NO_FEASIBLE_PLAN, TRAIND_EXIT_NO_PLAN},
               {TRAIND_WAIT_TIMED_OUT, TRAIND_EXIT_TIMED_OUT},
               {TRAIND_ASSERTION_FAILED, TRAIND_EXIT_ASSERTION},
               {TRAIND_JOB_STOPPED, TRAIND_EXIT_JOB_STOPPED},
               {TRAIND_MISUSE, TRAIND_EXIT_USAGE},
               {TRAIND_INTERRUPTED, TRAIND_EXIT_SIGNAL + 2}};
  for (const auto& item : cases) assert_int_equal(traind_exit_code(item.error), item.exit_code);
}

void limits_are_the_tables(void**) {
  assert_int_equal(TRAIND_MAX_SCRIPT_BYTES, traind::kMaxScriptBytes);
  assert_int_equal(TRAIND_MAX_INCLUDE_DEPTH, traind::kMaxIncludeDepth);
}

void the_library_tells_what_it_is(void**) {
  assert_int_equal(traind_abi_version(), TRAIND_ABI_VERSION);
  assert_true(isdigit(static_cast<unsigned char>(traind_version_string()[0])) != 0);
  assert_int_equal(traind_has_feature("embed"), 1);
  assert_int_equal(traind_has_feature("cuda"), 0);
  assert_int_equal(traind_has_feature(nullptr), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_error_has_its_constant), cmocka_unit_test(codes_have_names_texts_and_exit_codes),
      cmocka_unit_test(exit_codes_are_the_shells),    cmocka_unit_test(limits_are_the_tables),
      cmocka_unit_test(the_library_tells_what_it_is),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
