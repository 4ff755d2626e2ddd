// The error table as constants and rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace traind {

enum class ErrorCode : int32_t {
  kOk = 0,
#define E(number, name, error_class, retryable, exit_code, text) name = number,
#include "engine/base/errors.def"
#undef E
};

// One row of errors.def.
struct ErrorInfo {
  ErrorCode code;
  std::string_view name;
  std::string_view error_class;
  bool retryable;
  int exit_code;
  std::string_view text;
};

// All rows, by number.
std::span<const ErrorInfo> AllErrors();

// The row of `code`; the row of INTERNAL for a number that is in no row.
const ErrorInfo& InfoOf(ErrorCode code);

// The row of that name, or nullptr.
const ErrorInfo* FindError(std::string_view name);

}  // namespace traind
