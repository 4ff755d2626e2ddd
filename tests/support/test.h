// cmocka for C++: the one way tests include it.
//
// cmocka leaves a failed test by longjmp, which is undefined across C++ destructors; CTest sets
// CMOCKA_TEST_ABORT=1, so that a failure aborts the program at the assertion instead.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cstdio>
#include <cstdlib>
#include <ios>
#include <string>

#include "engine/base/status.h"

// Last: its macros (`fail`) are names that the standard library uses.
extern "C" {
#include <cmocka.h>
}

// Fails with the Status' own words.
#define assert_ok(expression)                                                                    \
  do {                                                                                           \
    const ::traind::Status& assert_status = ::traind::testing::StatusOf(expression);             \
    if (!assert_status.ok()) {                                                                   \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, assert_status.ToString().c_str()); \
      fail();                                                                                    \
    }                                                                                            \
  } while (false)

#define assert_code(expression, expected)                                                            \
  do {                                                                                               \
    const ::traind::Status& assert_status = ::traind::testing::StatusOf(expression);                 \
    if (assert_status.code() != (expected)) {                                                        \
      std::fprintf(stderr, "%s:%d: got %s\n", __FILE__, __LINE__, assert_status.ToString().c_str()); \
      fail();                                                                                        \
    }                                                                                                \
  } while (false)

#define assert_text(actual, expected)                                                      \
  do {                                                                                     \
    const std::string assert_actual(actual), assert_expected(expected);                    \
    if (assert_actual != assert_expected) {                                                \
      std::fprintf(stderr, "%s:%d:\n  got:      %s\n  expected: %s\n", __FILE__, __LINE__, \
                   assert_actual.c_str(), assert_expected.c_str());                        \
      fail();                                                                              \
    }                                                                                      \
  } while (false)

namespace traind::testing {

inline Status StatusOf(const Status& status) {
  return status;
}
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.status();
}

}  // namespace traind::testing
