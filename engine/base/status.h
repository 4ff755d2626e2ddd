// Errors are values: Status says what went wrong, Result<T> holds a value or that.
//
// A message says what was wrong, with which object, and the limit or expected form; the hint says what to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/error.h"

namespace traind {

// A place in a text. `offset` counts bytes from 0, `line` from 1, `column` in characters (code points)
// from 1. line 0 means "no position".
struct SourcePosition {
  int64_t offset = 0;
  int32_t line = 0;
  int32_t column = 0;

  bool known() const { return line > 0; }
  bool operator==(const SourcePosition&) const = default;
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(ErrorCode code, std::string message, std::string hint = {})
      : detail_(std::make_unique<Detail>(Detail{code, std::move(message), std::move(hint), {}, {}, {}})) {}

  Status(const Status& other) : detail_(other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr) {}
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) {
    if (this != &other) detail_ = other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr;
    return *this;
  }
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  // Fluent additions: `return Status(...).At(position)`. No effect on OK.
  Status&& At(SourcePosition position) && {
    if (detail_) detail_->position = position;
    return std::move(*this);
  }
  Status&& Expecting(std::vector<std::string> expected) && {
    if (detail_) detail_->expected = std::move(expected);
    return std::move(*this);
  }
  // Machine-readable details, a JSON object as text.
  Status&& With(std::string detail_json) && {
    if (detail_) detail_->json = std::move(detail_json);
    return std::move(*this);
  }
  void set_position(SourcePosition position) {
    if (detail_) detail_->position = position;
  }

  bool ok() const { return detail_ == nullptr; }
  ErrorCode code() const { return detail_ ? detail_->code : ErrorCode::kOk; }
  const ErrorInfo& info() const { return InfoOf(code()); }
  const std::string& message() const { return detail_ ? detail_->message : Empty(); }
  const std::string& hint() const { return detail_ ? detail_->hint : Empty(); }
  const std::string& detail_json() const { return detail_ ? detail_->json : Empty(); }
  SourcePosition position() const { return detail_ ? detail_->position : SourcePosition{}; }
  // What the grammar would have accepted at the position, in display form ("FROM", "a name").
  const std::vector<std::string>& expected() const;

  // "NAME: message" for logs.
  std::string ToString() const;

 private:
  struct Detail {
    ErrorCode code;
    std::string message;
    std::string hint;
    SourcePosition position;
    std::vector<std::string> expected;
    std::string json;
  };
  static const std::string& Empty();
  std::unique_ptr<Detail> detail_;
};

inline Status Ok() {
  return {};
}

// A value, or the Status that says why there is none (never an OK one).
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : value_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(value_); }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : std::get<Status>(value_); }

  // Only when ok().
  T& operator*() & { return std::get<T>(value_); }
  const T& operator*() const& { return std::get<T>(value_); }
  T&& operator*() && { return std::get<T>(std::move(value_)); }
  T* operator->() { return &std::get<T>(value_); }
  const T* operator->() const { return &std::get<T>(value_); }

 private:
  std::variant<T, Status> value_;
};

// Leaves the function with the Status of a failed expression.
#define TRAIND_TRY(expression)                  \
  do {                                          \
    ::traind::Status try_status = (expression); \
    if (!try_status.ok()) return try_status;    \
  } while (false)

#define TRAIND_CONCAT_(a, b) a##b
#define TRAIND_CONCAT(a, b) TRAIND_CONCAT_(a, b)

// `TRAIND_ASSIGN(auto x, F());`: x is F's value, or the function is left with F's Status.
#define TRAIND_ASSIGN(target, expression) \
  TRAIND_ASSIGN_(target, expression, TRAIND_CONCAT(try_result_, __LINE__))
#define TRAIND_ASSIGN_(target, expression, result) \
  auto result = (expression);                      \
  if (!result.ok()) return result.status();        \
  target = *std::move(result)

}  // namespace traind
