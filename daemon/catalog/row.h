// Reading a row's cells one after the other, with their types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

// Cells of another type than asked for read as 0, "" or nullopt: STRICT tables hold none.
class RowReader {
 public:
  explicit RowReader(const std::vector<Cell>& row) : row_(row) {}

  int64_t Int() { return OptionalInt().value_or(0); }
  double Real() { return OptionalReal().value_or(0); }
  std::string Text() {
    const auto* text = std::get_if<std::string>(&Next());
    return text ? *text : std::string();
  }
  std::optional<int64_t> OptionalInt() {
    const auto* value = std::get_if<int64_t>(&Next());
    return value ? std::optional(*value) : std::nullopt;
  }
  std::optional<double> OptionalReal() {
    const Cell& cell = Next();
    if (const auto* real = std::get_if<double>(&cell)) return *real;
    if (const auto* integer = std::get_if<int64_t>(&cell)) return static_cast<double>(*integer);
    return std::nullopt;
  }
  // A JSON text; NULL reads as null.
  Result<Json> JsonValue() {
    const std::string text = Text();
    if (text.empty()) return Json();
    return ParseJson(text);
  }

 private:
  const Cell& Next() {
    static const Cell null;
    return position_ < row_.size() ? row_[position_++] : null;
  }

  const std::vector<Cell>& row_;
  size_t position_ = 0;
};

inline Cell OptionalCell(const std::optional<double>& value) {
  return value ? Cell(*value) : Cell();
}
inline Cell OptionalCell(const std::optional<int64_t>& value) {
  return value ? Cell(*value) : Cell();
}

}  // namespace traind::daemon
