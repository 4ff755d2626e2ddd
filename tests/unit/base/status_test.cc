// The tables of errors and limits, Status, Result and their macros.
#include "engine/base/status.h"

#include <set>

#include "engine/base/limits.h"
#include "tests/support/test.h"

namespace traind {
namespace {

void the_error_table_is_sound(void**) {
  std::set<std::string_view> names;
  int32_t previous = 0;
  for (const ErrorInfo& info : AllErrors()) {
    const auto number = static_cast<int32_t>(info.code);
    assert_true(number > previous);
    previous = number;
    assert_true(names.insert(info.name).second);
    assert_true(info.text.ends_with('.'));
    assert_true(info.exit_code >= 1 && info.exit_code <= 255);
    assert_ptr_equal(FindError(info.name), &InfoOf(info.code));
  }
  assert_null(FindError("NO_SUCH_ERROR"));
  assert_null(FindError(""));
  assert_text(InfoOf(static_cast<ErrorCode>(4711)).name, "INTERNAL");
}

void the_limit_table_is_sound(void**) {
  std::set<std::string_view> names;
  for (const LimitInfo& info : kLimits) {
    assert_true(info.value > 0);
    assert_true(names.insert(info.name).second);
  }
  assert_true(kMaxFrameBytes <= kMaxReplyFrameBytes);
  assert_true(kMaxScriptBytes < kMaxFrameBytes);
}

void ok_is_empty(void**) {
  const Status ok = Ok();
  assert_true(ok.ok());
  assert_int_equal(ok.code(), ErrorCode::kOk);
  assert_text(ok.message(), "");
  assert_text(ok.hint(), "");
  assert_text(ok.detail_json(), "");
  assert_true(ok.expected().empty());
  assert_false(ok.position().known());
  assert_text(ok.ToString(), "OK");
  assert_true(Status().At({1, 1, 1}).ok());
}

void copies_are_independent(void**) {
  const Status original = Status(ErrorCode::IO, "m", "h").At({3, 1, 4}).Expecting({"x"}).With("{}");
  Status copy = original;
  copy.set_position({9, 2, 1});
  assert_int_equal(original.position().offset, 3);
  assert_int_equal(copy.position().offset, 9);
  copy = Ok();
  assert_true(copy.ok());
  copy = original;
  copy = *&copy;
  assert_text(copy.ToString(), "IO: m");
}

Result<int> Half(int number) {
  if (number % 2 != 0) return Status(ErrorCode::INVALID_OPTION, "odd");
  return number / 2;
}

Status Quarter(int number, int* out) {
  TRAIND_ASSIGN(const int half, Half(number));
  TRAIND_ASSIGN(*out, Half(half));
  TRAIND_TRY(Ok());
  return Ok();
}

void macros_leave_with_the_error(void**) {
  int out = 0;
  assert_ok(Quarter(12, &out));
  assert_int_equal(out, 3);
  assert_code(Quarter(6, &out), ErrorCode::INVALID_OPTION);
  assert_true(static_cast<bool>(Half(2)));
  assert_false(static_cast<bool>(Half(3)));
  assert_true(Half(2).status().ok());
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_error_table_is_sound),
      cmocka_unit_test(the_limit_table_is_sound),
      cmocka_unit_test(ok_is_empty),
      cmocka_unit_test(copies_are_independent),
      cmocka_unit_test(macros_leave_with_the_error),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
