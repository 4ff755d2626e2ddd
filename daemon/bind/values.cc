// Values of statements as numbers, durations and texts, with errors that point at them.
#include "daemon/bind/values.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "grammar/parse.h"

namespace traind::daemon {
namespace {

using grammar::Value;

std::optional<Quantity> AsQuantity(const Value& value) {
  if (value.kind == Value::Kind::kQuantity) return value.quantity;
  if (value.kind != Value::Kind::kString) return std::nullopt;
  auto read = ParseQuantity(value.text);
  if (!read.ok()) return std::nullopt;
  return *read;
}

std::string_view Wanted(Dimension dimension) {
  switch (dimension) {
    case Dimension::kNumber:
      return "a plain number or count (8, 512Ki, 1M)";
    case Dimension::kSeconds:
      return "a duration (90s, 30m, 1d12h)";
    case Dimension::kBytes:
      return "bytes (512MiB, 24GiB)";
    case Dimension::kGpuHours:
      return "gpu_hours (8gpu_hours)";
    default:
      return DimensionName(dimension);
  }
}

}  // namespace

Quantity NumberQuantity(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  Quantity quantity;
  quantity.value = value;
  quantity.integral = std::trunc(value) == value && std::fabs(value) <= kExact;
  if (quantity.integral) quantity.integer = static_cast<int64_t>(value);
  return quantity;
}

std::string DescribeValue(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kString:
      return fmt::format("the string {}", grammar::Print(value));
    case Value::Kind::kQuantity:
      return PrintQuantity(value.quantity);
    case Value::Kind::kWord:
      return fmt::format("the word {}", value.text);
    case Value::Kind::kParameter:
      break;
  }
  return fmt::format("the parameter {}", value.parameter.name);
}

Result<Quantity> BindQuantity(const Value& value, Dimension dimension, std::string_view what) {
  const std::optional<Quantity> quantity = AsQuantity(value);
  if (!quantity) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("{} needs {}, not {}", what, Wanted(dimension), DescribeValue(value)))
        .At(value.position);
  }
  if (quantity->dimension != dimension) {
    return Status(ErrorCode::WRONG_UNIT,
                  fmt::format("{} needs {}, not {} ({})", what, Wanted(dimension), PrintQuantity(*quantity),
                              DimensionName(quantity->dimension)))
        .At(value.position);
  }
  return *quantity;
}

Result<int64_t> BindInteger(const Value& value, std::string_view what, int64_t low, int64_t high) {
  TRAIND_ASSIGN(const Quantity quantity, BindQuantity(value, Dimension::kNumber, what));
  if (!quantity.integral) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("{} needs a whole number, not {}", what, PrintQuantity(quantity)))
        .At(value.position);
  }
  if (quantity.integer < low || quantity.integer > high) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("{} is {}; it must be from {} to {}", what, quantity.integer, low, high))
        .At(value.position);
  }
  return quantity.integer;
}

Result<double> BindSeconds(const Value& value, std::string_view what) {
  TRAIND_ASSIGN(const Quantity quantity, BindQuantity(value, Dimension::kSeconds, what));
  if (!(quantity.value > 0)) {
    return Status(ErrorCode::INVALID_OPTION, fmt::format("{} must be longer than 0s", what))
        .At(value.position);
  }
  return quantity.value;
}

Result<std::string> BindText(const Value& value, std::string_view what) {
  if (value.kind == Value::Kind::kString || value.kind == Value::Kind::kWord) return value.text;
  return Status(ErrorCode::INVALID_OPTION,
                fmt::format("{} needs a string, not {}", what, DescribeValue(value)))
      .At(value.position);
}

}  // namespace traind::daemon
